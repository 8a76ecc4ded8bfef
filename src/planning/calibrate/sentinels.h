// SPDX-License-Identifier: MIT
// Sentinels among the values of a tensor: numbers that mean "never" to a Softmax, such as an attention mask's -1e9.
#pragma once

#include <optional>

#include "calib/run_calibration.h"
#include "pass/context.h"

namespace quarkq::planning {

/// The statistics without sentinels; nothing when there are none. Infinities count as sentinels, too.
/// REQUIRES: seen.with_bins().
std::optional<calib::ValueStatistics> without_sentinels(const calib::ValueStatistics& seen);

/// The statistics of the negative values. REQUIRES: seen.with_bins().
calib::ValueStatistics mirrored(const calib::ValueStatistics& seen);

/// Statistics with bins of these tensors, from the samples or from stored statistics; empty if neither is given.
Result<calib::Statistics> statistics_with_bins(const pass::PlanContext& context, std::vector<ir::ValueId> tensors);

// Tensors with infinities or sentinels of masks that no format of the plan can hold.

/// Leaves in float:
/// - tensors that a block format would quantize, that only Softmax reads and that hold the sentinels of a mask. The
/// shared
///   exponent of a block is that of its largest value: a sentinel makes its neighbours zero or NaN;
/// - tensors with infinities that are not for a Softmax, such as masked outputs. Stored infinities become the largest
///   number in every format, those of activations in most.
Result<Changed> release_infinities(pass::PlanContext& context);

}  // namespace quarkq::planning
