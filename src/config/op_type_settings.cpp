// SPDX-License-Identifier: MIT
#include "config/op_type_settings.h"

namespace quarkq::config {

Result<std::vector<OpTypePair>> read_pairs_to_remove(const Settings& settings) {
  std::vector<OpTypePair> pairs;
  if (settings.qdq.remove_qdq_mul_add) pairs.push_back({"Mul", "Add"});
  for (const Node& item : settings.qdq.remove_qdq_between_ops.node.items()) {
    const Node::List& types = item.items();
    if (types.size() != 2 || !types[0].is_text() || !types[1].is_text())
      return invalid_argument(item.mark().prefix(),
                              "RemoveQDQBetweenOps: each item is a pair of op types such as [Conv, Relu]");
    pairs.push_back({types[0].as_text(), types[1].as_text()});
  }
  return pairs;
}

std::optional<int64_t> channel_axis_of(const Settings& settings, const std::string& op) {
  const Node* chosen = settings.qdq.qdq_op_type_per_channel_support_to_axis.node.find(op);
  if (chosen == nullptr || chosen->kind() != Node::Kind::kInt) return std::nullopt;
  return chosen->as_int();
}

}  // namespace quarkq::config
