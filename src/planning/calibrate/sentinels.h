// SPDX-License-Identifier: MIT
// Sentinels among the values of a tensor: numbers that mean "never" to a Softmax, such as an attention mask's -1e9.
#pragma once

#include <optional>

#include "calib/value_statistics.h"

namespace quarkq::planning {

/// The statistics without sentinels; nothing when there are none. Infinities count as sentinels, too.
/// REQUIRES: seen.with_bins().
std::optional<calib::ValueStatistics> without_sentinels(const calib::ValueStatistics& seen);

}  // namespace quarkq::planning
