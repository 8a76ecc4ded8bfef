// SPDX-License-Identifier: MIT
// Options by operator type: RemoveQDQBetweenOps with RemoveQDQMulAdd, QDQOpTypePerChannelSupportToAxis.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"

namespace quarkq::config {

/// An operator type, and one that reads its result.
struct OpTypePair {
  std::string upper, lower;
};

/// The pairs of operator types that get no Q/DQ pair between them. Fails for an item that is no pair of names.
Result<std::vector<OpTypePair>> read_pairs_to_remove(const Settings& settings);

/// The channel axis that the settings give operators of type `op`; nothing: none, or no whole number.
std::optional<int64_t> channel_axis_of(const Settings& settings, const std::string& op);

}  // namespace quarkq::config
