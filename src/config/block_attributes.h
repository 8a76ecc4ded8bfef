// SPDX-License-Identifier: MIT
// BFPAttributes and MXAttributes (spec 01 C.6): attributes of the nodes of block formats.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "config/settings.h"

namespace quarkq::config {

struct BlockAttribute {
  std::string name;
  std::variant<int64_t, std::string> value;
};

/// What the settings say of `type`, in the order of the file. Fails for a value that no attribute can hold.
/// REQUIRES: is_block(type).
Result<std::vector<BlockAttribute>> read_block_attributes(DataType type, const Settings& settings);

}  // namespace quarkq::config
