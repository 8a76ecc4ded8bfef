// SPDX-License-Identifier: MIT
// The type names that the rows of fields.def use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/convert.h"

namespace quarkq::config {

using Bool = bool;
using Int = int64_t;
using Real = double;
using Text = std::string;
using TextList = std::vector<std::string>;
using RealList = std::vector<double>;
using Map = MapValue;
using List = ListValue;
using Any = Node;
using OptBool = std::optional<bool>;
using OptInt = std::optional<int64_t>;
using OptText = std::optional<std::string>;
using OptTextList = std::optional<TextList>;
using OptMap = std::optional<MapValue>;
using OptMethod = std::optional<CalibrateMethod>;

}  // namespace quarkq::config
