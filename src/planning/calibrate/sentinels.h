// SPDX-License-Identifier: MIT
// Sentinels among the values of a tensor: numbers that mean "never" to a Softmax, such as an attention mask's -1e9.
#pragma once

#include <optional>

#include "calib/value_statistics.h"

namespace quarkq::planning {

/// What was seen without its sentinels; nothing when there is none. Infinities count as sentinels, too.
/// REQUIRES: seen.with_bins().
std::optional<calib::ValueStatistics> without_sentinels(const calib::ValueStatistics& seen);

}  // namespace quarkq::planning
