// SPDX-License-Identifier: MIT
// RandomDataReaderInputShape and RandomDataReaderInputDataRange (ref:samples#random-samples): what random samples look
// like.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"

namespace quarkq::config {

/// By the name of the input; inputs that are not named look as the model says.
struct RandomDataSettings {
  std::map<std::string, std::vector<int64_t>> shapes;
  std::map<std::string, std::pair<double, double>> ranges;  ///< lowest and highest value
};

/// Fails for values that are no numbers, and for a range that is no pair.
Result<RandomDataSettings> read_random_data_settings(const Settings& settings);

}  // namespace quarkq::config
