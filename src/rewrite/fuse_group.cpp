// SPDX-License-Identifier: MIT
#include "rewrite/fuse_group.h"

#include <algorithm>

namespace quarkq::rewrite {

const ir::Node* MatchedGroup::producer(ir::ValueId value, const char* op) {
  const ir::Node* node = value.valid() ? graph_.producer(value) : nullptr;
  if (node == nullptr || !node->is(op)) return nullptr;
  if (std::find(members_.begin(), members_.end(), node->id) == members_.end()) members_.push_back(node->id);
  return node;
}

bool MatchedGroup::is_closed(ir::ValueId input) const {
  const ir::Node* source = graph_.producer(input);
  if (source != nullptr && std::find(members_.begin(), members_.end(), source->id) != members_.end()) return false;
  for (size_t i = 1; i < members_.size(); ++i) {
    for (const ir::ValueId output : graph_.node(members_[i]).outputs) {
      if (!output.valid()) continue;
      const ir::Value& value = graph_.value(output);
      const bool inside = std::all_of(value.uses.begin(), value.uses.end(), [&](const ir::Use& use) {
        return !use.is_capture && std::find(members_.begin(), members_.end(), use.node) != members_.end();
      });
      if (value.is_output || !inside) return false;
    }
  }
  return true;
}

ir::ValueId other_operand(const ir::Node& node, ir::ValueId known) {
  if (node.inputs.size() != 2 || (node.inputs[0] == known) == (node.inputs[1] == known)) return {};
  return node.inputs[node.inputs[0] == known ? 1 : 0];
}

std::optional<double> scalar(const ir::Graph& graph, ir::ValueId value) {
  const ir::Tensor* stored = value.valid() ? graph.constant(value) : nullptr;
  if (stored == nullptr || stored->size() != 1) return std::nullopt;
  const Result<std::vector<double>> numbers = ir::to_double(*stored);
  return numbers.ok() ? std::optional(numbers.value()[0]) : std::nullopt;
}

void replace_group(ir::GraphPatch& patch, const MatchedGroup& group, ir::GraphPatch::PatchNode node) {
  node.outputs = {group.graph().node(group.members().front()).output(0)};
  for (const ir::NodeId id : group.members()) patch.remove(id);
  patch.node(std::move(node));
  patch.place_at_end();
}

}  // namespace quarkq::rewrite
