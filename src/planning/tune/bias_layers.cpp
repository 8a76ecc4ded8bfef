// SPDX-License-Identifier: MIT
#include "planning/tune/bias_layers.h"

#include <algorithm>

#include "ir/qdq_nodes.h"
#include "plan/lowering/lower.h"

namespace quarkq::planning {
namespace {

struct ChainEnd {
  ir::ValueId value;
  int activations = 0;  ///< Relu and Clip nodes on the way
};

bool is_activation(const ir::Node& node) { return node.op == "Relu" || node.op == "Clip"; }

bool is_stage(const ir::Node& node) {
  return node.op == plan::kFakeQuantize || ir::is_q(node) || ir::is_dq(node) || node.domain == ir::kQuarkDomain;
}

/// A pair that is written as QuantizeLinear and DequantizeLinear.
bool is_standard_stage(const ir::Node& node) {
  if (node.op == plan::kFakeQuantize) return node.string_or(plan::kQuantizeOp, "") == "QuantizeLinear";
  return ir::is_standard_q(node) || ir::is_standard_dq(node);
}

/// A graph's walks, with the place of each node in a list.
class BiasWalk {
 public:
  BiasWalk(const ir::Graph& graph, const std::vector<ir::NodeId>& order)
      : graph_(graph), place_(graph.node_count(), 0) {
    for (size_t i = 0; i < order.size(); ++i) place_[static_cast<size_t>(order[i].index)] = i + 1;
  }

  /// From the node's result on, as long as the first reader is an activation or a standard stage.
  ChainEnd end_of(const ir::Node& node) const {
    ChainEnd end{node.output(0)};
    for (const ir::Node* next = first_reader(end.value); next != nullptr; next = first_reader(end.value)) {
      if ((!is_activation(*next) && !is_standard_stage(*next)) || next->input(0) != end.value) break;
      end.activations += is_activation(*next) ? 1 : 0;
      end.value = next->output(0);
    }
    return end;
  }

 private:
  /// Stages have no place in the list and come first.
  const ir::Node* first_reader(ir::ValueId value) const {
    const ir::Node* first = nullptr;
    for (const ir::Use& use : graph_.value(value).uses) {
      if (use.is_capture) continue;
      const ir::Node& reader = graph_.node(use.node);
      if (first == nullptr || place(reader) < place(*first)) first = &reader;
    }
    return first;
  }
  size_t place(const ir::Node& node) const { return place_[static_cast<size_t>(node.id.index)]; }

  const ir::Graph& graph_;
  std::vector<size_t> place_;
};

bool is_private_constant(const ir::Graph& graph, ir::ValueId id) {
  return id.valid() && graph.value(id).is_initializer() && !graph.value(id).is_input && graph.sole_use(id).has_value();
}

/// Fills in how the bias is stored; says why not when it cannot be changed.
std::string find_storage(const ir::Graph& graph, ir::ValueId bias, BiasLayer& layer) {
  const ir::Node* source = graph.producer(bias);
  layer.is_coded = source != nullptr && ir::is_dq(*source) && graph.value(source->input(0)).is_initializer();
  // A float bias, maybe before a stage that rounds it when the model runs.
  while (source != nullptr && is_stage(*source)) {
    if (!graph.sole_use(bias)) return "its bias is shared";
    bias = source->input(0);
    source = graph.producer(bias);
  }
  if (!is_private_constant(graph, bias)) return "its bias is shared or not stored";
  layer.stored = *graph.value(bias).constant;
  const ElementType type = layer.stored.type();
  if (layer.is_coded) return is_integer(type) ? "" : "its bias is not stored as integers";
  return type == ElementType::kFloat || type == ElementType::kFloat16 ? "" : "its bias is not stored as floats";
}

bool rest_is_constant(const ir::Graph& graph, const ir::Node& node) {
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i].valid() && graph.constant(node.inputs[i]) == nullptr) return false;
  }
  return true;
}

}  // namespace

Result<std::vector<BiasLayer>> bias_layers(const pass::PlanContext& context, const ir::Graph& simulated) {
  const ir::Graph& original = context.graph();
  QQ_TRY(const std::vector<ir::NodeId> order, plan::written_order(context.graph(), context.plan));
  const BiasWalk walk(simulated, order), float_walk(original, original.order());
  std::vector<BiasLayer> layers;
  for (const ir::NodeId id : order) {
    const ir::Node& node = simulated.node(id);
    if ((!node.is("Conv") && !node.is("Gemm")) || !node.input(2).valid()) continue;
    const ir::Node& float_node = original.node(id);
    const ChainEnd end = walk.end_of(node), float_end = float_walk.end_of(float_node);
    BiasLayer layer{id,
                    original.label(id),
                    node.input(0),
                    end.value,
                    float_node.input(0),
                    float_end.value,
                    float_node.input(2),
                    {},
                    false};
    std::string reason = find_storage(simulated, node.input(2), layer);
    if (reason.empty() && end.activations != float_end.activations)
      reason = "other operators follow it in the float model";
    if (reason.empty() && !rest_is_constant(original, float_node)) reason = "its weight is computed";
    if (reason.empty()) {
      layers.push_back(std::move(layer));
    } else {
      context.diagnostics.add("bias-skipped", layer.label, reason);
    }
  }
  return layers;
}

}  // namespace quarkq::planning
