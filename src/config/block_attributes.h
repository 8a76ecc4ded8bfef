// SPDX-License-Identifier: MIT
// BFPAttributes and MXAttributes (ref:settings#block-attributes): attributes of the nodes of block formats.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/no_value.h"
#include "config/settings.h"

namespace quarkq::config {

struct BlockAttribute {
  std::string name;
  std::variant<NoValue, int64_t, std::string> value;
};

/// The attributes that the settings give for `type`, in the order of the file. Fails for a value that no attribute can
/// hold. REQUIRES: is_block(type).
Result<std::vector<BlockAttribute>> read_block_attributes(DataType type, const Settings& settings);

}  // namespace quarkq::config
