// SPDX-License-Identifier: MIT
#include "targets/groups.h"

#include <algorithm>
#include <numeric>

namespace quarkq::targets {
namespace {

/// Longer chains without Q/DQ are parts that were left float. The longest fused one is Conv, BatchNormalization,
/// HardSigmoid and the Mul that rescales it.
constexpr size_t kMostFused = 4;

class Joiner {
 public:
  explicit Joiner(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t root(size_t item) {
    while (parent_[item] != item) item = parent_[item] = parent_[parent_[item]];
    return item;
  }
  void join(size_t a, size_t b) { parent_[root(b)] = root(a); }

 private:
  std::vector<size_t> parent_;
};

bool is_float_value(const QuantizedView& view, ir::ValueId value) {
  if (!value.valid()) return false;
  const ElementType type = view.graph().value(value).type.element;
  return type == ElementType::kUndefined || is_floating(type);
}

bool computes_integers(const QuantizedView& view, const ir::Node& node) {
  const auto is_float = [&](ir::ValueId value) { return is_float_value(view, value); };
  const bool any_output = std::any_of(node.outputs.begin(), node.outputs.end(), is_float);
  const bool any_input = std::any_of(node.inputs.begin(), node.inputs.end(), is_float);
  return !any_output && (!any_input || node.is("Shape") || node.is("Size"));
}

bool is_fused_activation(const ir::Node& node) { return node.is("Relu") || node.is("Clip"); }

/// Whether two operators belong together because the float value between them has no Q/DQ.
bool are_joined(const QuantizedView& view, const ir::Node& reader, ir::ValueId input) {
  const ir::Node* producer = input.valid() ? view.graph().producer(input) : nullptr;
  if (producer == nullptr || view.kind(producer->id) != NodeKind::kOperator || !is_float_value(view, input))
    return false;
  return view.has_pairs || (is_fused_activation(reader) && view.graph().sole_use(input).has_value());
}

bool is_product(const ir::Node& node) {
  return node.is("Conv") || node.is("ConvTranspose") || node.is("Gemm") || node.is("MatMul");
}

/// Every float value that enters comes from a DQ or is stored, and every one that leaves goes to Q only.
bool is_quantized(const QuantizedView& view, const std::vector<ir::NodeId>& members) {
  const ir::Graph& graph = view.graph();
  const auto is_member = [&](ir::NodeId id) { return std::find(members.begin(), members.end(), id) != members.end(); };
  const auto products =
      std::count_if(members.begin(), members.end(), [&](ir::NodeId id) { return is_product(view.node(id)); });
  if (members.size() > kMostFused || products > 1) return false;
  for (const ir::NodeId id : members) {
    for (const ir::ValueId input : view.node(id).inputs) {
      if (!is_float_value(view, input) || view.is_from_pair(input) || graph.constant(input) != nullptr) continue;
      const ir::Node* producer = graph.producer(input);
      if (producer == nullptr || !is_member(producer->id)) return false;
    }
    for (const ir::ValueId output : view.node(id).outputs) {
      if (!is_float_value(view, output)) continue;
      if (graph.value(output).is_output) return false;
      for (const ir::Use& use : graph.value(output).uses) {
        if (use.is_capture || (view.kind(use.node) != NodeKind::kQuantize && !is_member(use.node))) return false;
      }
    }
  }
  return true;
}

}  // namespace

Groups group_operators(const QuantizedView& view, bool as_if_quantized) {
  const size_t nodes = view.kinds.size();
  Groups groups{std::vector<int>(nodes, -1), {}, std::vector<bool>(nodes, false), std::vector<bool>(nodes, false)};
  Joiner joiner(nodes);
  for (const ir::NodeId id : view.operators) {
    const ir::Node& node = view.node(id);
    groups.is_integer[static_cast<size_t>(id.index)] = computes_integers(view, node);
    if (!view.has_pairs && !as_if_quantized) continue;
    for (const ir::ValueId input : node.inputs) {
      if (are_joined(view, node, input))
        joiner.join(static_cast<size_t>(view.graph().producer(input)->id.index), static_cast<size_t>(id.index));
    }
  }
  std::vector<std::vector<ir::NodeId>> joined(nodes);
  for (const ir::NodeId id : view.operators) joined[joiner.root(static_cast<size_t>(id.index))].push_back(id);
  const auto add = [&](std::vector<ir::NodeId> members) {
    for (const ir::NodeId id : members)
      groups.of[static_cast<size_t>(id.index)] = static_cast<int>(groups.members.size());
    groups.members.push_back(std::move(members));
  };
  for (std::vector<ir::NodeId>& members : joined) {
    if (members.empty()) continue;
    if (!view.has_pairs || is_quantized(view, members)) {
      add(std::move(members));
      continue;
    }
    for (const ir::NodeId id : members) {
      groups.is_float[static_cast<size_t>(id.index)] = !groups.integer(id);
      add({id});
    }
  }
  return groups;
}

}  // namespace quarkq::targets
