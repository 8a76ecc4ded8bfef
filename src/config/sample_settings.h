// SPDX-License-Identifier: MIT
// The block "calibration.raw": type and shape of raw binary sample files, which have no header.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/node.h"
#include "config/settings.h"
#include "numeric/element_type.h"

namespace quarkq::config {

/// Little-endian values of `type` in C order.
struct RawFormat {
  ElementType type = ElementType::kFloat;
  std::vector<int64_t> dims;
};

/// Reads {dtype, shape} as the entry "", or {<input>: {dtype, shape}, ...} by input name. A null `node` means no entry.
/// Fails with kInvalidArgument naming key, found and allowed values.
Result<std::map<std::string, RawFormat>> read_raw_formats(const Node& node);

// RandomDataReaderInputShape and RandomDataReaderInputDataRange (ref:samples#random-samples): shape and range of random
// samples.

/// Keyed by the name of the input. Other inputs use the model's shapes.
struct RandomDataSettings {
  std::map<std::string, std::vector<int64_t>> shapes;
  std::map<std::string, std::pair<double, double>> ranges;  ///< Lowest and highest value.
};

/// Fails for values that are not numbers, and for a range that is not a pair.
Result<RandomDataSettings> read_random_data_settings(const Settings& settings);

}  // namespace quarkq::config
