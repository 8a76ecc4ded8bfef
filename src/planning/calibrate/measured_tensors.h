// SPDX-License-Identifier: MIT
// Which activations calibration must observe.
#pragma once

#include <vector>

#include "planning/calibrate/range_sources.h"

namespace quarkq::planning {

/// Slots that need a range of their own: activations with parameters of their own, in formats with a scale.
std::vector<plan::QuantSlot*> slots_to_measure(plan::QuantPlan& plan);

/// Ascending, without repetition. Only tensors whose range is read; all that the reference calibrates
/// (ref:calibration#measured-tensors) in compat mode, where one tensor's failure moves all, and when the ranges or
/// histograms are written to files.
std::vector<ir::ValueId> tensors_to_measure(const pass::PlanContext& context, const RangeSources& sources);

/// Every float value that a node of the op set reads or writes and that is no initializer
/// (ref:calibration#measured-tensors).
std::vector<ir::ValueId> calibrated_tensors(const pass::PlanContext& context);

}  // namespace quarkq::planning
