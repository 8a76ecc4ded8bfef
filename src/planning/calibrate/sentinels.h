// SPDX-License-Identifier: MIT
// Sentinels among the values of a tensor: numbers that mean "never" for a Softmax, such as -1e9 in an attention mask.
#pragma once

#include <optional>

#include "calib/run_calibration.h"
#include "pass/context.h"

namespace quarkq::planning {

/// Returns the statistics without sentinels and infinities, or nullopt if there are none. REQUIRES: seen.with_bins().
std::optional<calib::ValueStatistics> without_sentinels(const calib::ValueStatistics& seen);

/// Returns the statistics of the negated values. REQUIRES: seen.with_bins().
calib::ValueStatistics mirrored(const calib::ValueStatistics& seen);

/// Returns statistics with bins for these tensors, from the samples or from stored statistics. Returns an empty result
/// if neither is given.
Result<calib::Statistics> statistics_with_bins(const pass::PlanContext& context, std::vector<ir::ValueId> tensors);

/// Keeps in float:
/// - tensors that a block format would quantize, that only Softmax reads and that contain the sentinels of a mask. The
/// largest value of a block determines its shared exponent, so a sentinel turns its neighbours into zero or NaN;
/// - tensors with infinities that are not for a Softmax, such as masked outputs. Stored infinities become the largest
/// number in every format, infinities of activations in most formats.
Result<Changed> release_infinities(pass::PlanContext& context);

}  // namespace quarkq::planning
