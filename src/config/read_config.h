// SPDX-License-Identifier: MIT
// Allowed top-level contents of a settings file. The readers are in read_config.cpp.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "config/convert.h"
#include "config/quant_config.h"

namespace quarkq::config {

// Common parts of the readers of blocks, and the blocks "quarkq:" and "legalize:", which have their own files.

/// Reads `key` of the block `node` into `member` if it is present and not null.
template <typename T>
Status read_key(const Node& node, const std::string& block, const std::string& key, std::optional<T>& member) {
  const Node* value = node.find(key);
  if (value == nullptr || value->is_null()) return {};
  QQ_TRY(member, read<T>(*value, block + "." + key));
  return {};
}

/// Fails unless `value` is absent or in `allowed`.
inline Status check_one_of(const std::optional<std::string>& value, const std::string& path,
                           const std::vector<std::string>& allowed) {
  if (!value || std::find(allowed.begin(), allowed.end(), *value) != allowed.end()) return {};
  return invalid_argument(path, ": found ", *value, ", allowed is ", join(allowed, " or "));
}

Status read_tool(const Node& node, QuantConfig& config);
Status read_legalize(const Node& node, QuantConfig& config);
/// Reads `guards` at the top level, which means quarkq.guards.
Status read_guards(const Node& node, QuantConfig& config);

/// Returns every key allowed at the top of a settings file (ref:settings#settings-file, and "preprocess").
std::vector<std::string> top_level_keys();

}  // namespace quarkq::config
