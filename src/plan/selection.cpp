// SPDX-License-Identifier: MIT
#include "plan/selection.h"

#include <algorithm>

#include "ir/qdq_nodes.h"

namespace quarkq::plan {

void NodeMarks::add(const ir::Node& node) {
  const auto index = static_cast<size_t>(node.id.index);
  if (marks_[index]) return;
  marks_[index] = true;
  ++count_;
  if (!node.name.empty()) names_.insert(node.name);
}

bool NodeMarks::contains(const ir::Node& node) const {
  if (by_name_) return !node.name.empty() && names_.contains(node.name);
  return std::any_of(node.origins.begin(), node.origins.end(), [&](ir::NodeId origin) {
    return static_cast<size_t>(origin.index) < marks_.size() && marks_[static_cast<size_t>(origin.index)];
  });
}

std::optional<DecisionKind> Selection::refusal(const ir::Node& node) const {
  if (ir::is_standard_q(node) || ir::is_standard_dq(node)) return DecisionKind::kAlreadyQuantized;
  if (!op_types.contains(node.op)) return DecisionKind::kOperatorNotSelected;
  if (excluded.contains(node)) return DecisionKind::kNodeExcluded;
  if (left_float.contains(node.id)) return DecisionKind::kNodeLeftFloat;
  if (!included.empty() && !included.contains(node)) return DecisionKind::kNodeNotIncluded;
  return std::nullopt;
}

void for_each_tensor(const ir::Graph& graph, const ir::Node& node, const config::LayerSpec& spec,
                     const std::function<void(ir::ValueId, const config::TensorSpec&)>& visit) {
  size_t weight = 0;
  while (weight < node.inputs.size() &&
         (!node.inputs[weight].valid() || !graph.value(node.inputs[weight]).is_initializer())) {
    if (spec.input_tensors && node.inputs[weight].valid()) visit(node.inputs[weight], *spec.input_tensors);
    ++weight;
  }
  if (spec.weight && node.input(weight).valid()) visit(node.input(weight), *spec.weight);
  if (spec.bias && node.input(weight + 1).valid()) visit(node.input(weight + 1), *spec.bias);
  if (!spec.output_tensors) return;
  for (const ir::ValueId output : node.outputs) {
    if (output.valid()) visit(output, *spec.output_tensors);
  }
}

}  // namespace quarkq::plan
