// SPDX-License-Identifier: MIT
// New values of attributes of single nodes, as the pass onnx_set_node_attributes lists them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/no_value.h"

namespace quarkq::config {

/// A value of the kinds that attributes have; NoValue: one of another kind, or a list of several kinds.
using AttributeUpdate = std::variant<NoValue, int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                                     std::vector<std::string>>;

struct NodeUpdate {
  std::string node;
  std::vector<std::pair<std::string, AttributeUpdate>> attributes;
};

/// "[{node_name: N, attributes: {A: V}}, ...]". As strict as the reference: 1 is no FLOAT, and true no INT.
Result<std::vector<NodeUpdate>> parse_node_updates(const std::string& text);

}  // namespace quarkq::config
