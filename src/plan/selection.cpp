// SPDX-License-Identifier: MIT
#include "plan/selection.h"

#include <algorithm>

namespace quarkq::plan {

bool Selection::any_origin(const std::vector<bool>& marks, const ir::Node& node) {
  return std::any_of(node.origins.begin(), node.origins.end(), [&](ir::NodeId origin) {
    return static_cast<size_t>(origin.index) < marks.size() && marks[static_cast<size_t>(origin.index)];
  });
}

bool Selection::selects(const ir::Node& node) const {
  if (node.op == "QuantizeLinear" || node.op == "DequantizeLinear") return false;
  if (!op_types.contains(node.op) || any_origin(excluded, node)) return false;
  return included.empty() || any_origin(included, node);
}

}  // namespace quarkq::plan
