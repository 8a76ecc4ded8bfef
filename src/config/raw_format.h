// SPDX-License-Identifier: MIT
// The block "calibration.raw": type and shape of raw binary sample files, which have no header.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/node.h"
#include "numeric/element_type.h"

namespace quarkq::config {

/// Little-endian values of `type` in C order.
struct RawFormat {
  ElementType type = ElementType::kFloat;
  std::vector<int64_t> dims;
};

/// {dtype, shape} as the entry "", or {<input>: {dtype, shape}, ...} by input name. `node`: null means no entry.
/// Fails with kInvalidArgument naming key, found and allowed.
Result<std::map<std::string, RawFormat>> read_raw_formats(const Node& node);

}  // namespace quarkq::config
