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

}  // namespace quarkq::planning
