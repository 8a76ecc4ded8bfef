// SPDX-License-Identifier: MIT
#include "passes/finish/bias_layers.h"

#include <algorithm>
#include <map>

#include "passes/finish/qdq_nodes.h"

namespace quarkq::passes {
namespace {

struct ChainEnd {
  ir::ValueId value;
  int activations = 0;  ///< Relu and Clip nodes on the way
};

bool is_activation(const ir::Node& node) { return node.op == "Relu" || node.op == "Clip"; }

/// Both graphs' walks, with the place of each node in the list.
class Walk {
 public:
  explicit Walk(const ir::Graph& graph) : graph_(graph), place_(graph.node_count(), 0) {
    for (size_t i = 0; i < graph.order().size(); ++i) place_[static_cast<size_t>(graph.order()[i].index)] = i;
  }

  /// From the node's result on, as long as the first reader is an activation or a standard Q or DQ.
  ChainEnd end_of(const ir::Node& node) const {
    ChainEnd end{node.output(0)};
    for (const ir::Node* next = first_reader(end.value); next != nullptr; next = first_reader(end.value)) {
      const bool passes = is_activation(*next) || is_standard_q(*next) || is_standard_dq(*next);
      if (!passes || next->input(0) != end.value) break;
      end.activations += is_activation(*next) ? 1 : 0;
      end.value = next->output(0);
    }
    return end;
  }

 private:
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

/// The float node of each quantized one: by its name, else by what it makes.
class Counterparts {
 public:
  explicit Counterparts(const ir::Graph& graph) : graph_(graph) {
    for (const ir::NodeId id : graph.order()) {
      const ir::Node& node = graph.node(id);
      if (node.name.empty()) continue;
      const auto [place, is_new] = by_name_.emplace(node.name, &node);
      if (!is_new) place->second = nullptr;  // not unique
    }
  }

  const ir::Node* of(const ir::Graph& quantized, const ir::Node& node) const {
    const auto found = by_name_.find(node.name);
    if (found != by_name_.end() && found->second != nullptr)
      return found->second->op == node.op ? found->second : nullptr;
    constexpr std::string_view kBeforeOutput = "_QuantizeLinear_Input";
    std::string name = quantized.value(node.output(0)).name;
    if (name.ends_with(kBeforeOutput)) name.resize(name.size() - kBeforeOutput.size());
    const ir::ValueId made = graph_.find(name);
    const ir::Node* producer = made.valid() ? graph_.producer(made) : nullptr;
    return producer != nullptr && producer->op == node.op ? producer : nullptr;
  }

 private:
  const ir::Graph& graph_;
  std::map<std::string, const ir::Node*, std::less<>> by_name_;
};

bool is_private_constant(const ir::Graph& graph, ir::ValueId id) {
  return id.valid() && graph.value(id).is_initializer() && !graph.value(id).is_input && graph.sole_use(id).has_value();
}

/// Fills in where the bias lies; says why not when it cannot be changed.
std::string find_storage(const ir::Graph& graph, ir::ValueId bias, BiasLayer& layer) {
  const ir::Node* source = graph.producer(bias);
  if (source != nullptr && is_dq(*source) && graph.value(source->input(0)).is_initializer()) {
    if (!graph.sole_use(bias) || !is_private_constant(graph, source->input(0))) return "its bias is shared";
    if (!is_integer(graph.value(source->input(0)).constant->type())) return "its bias is not stored as integers";
    if (graph.constant(source->input(1)) == nullptr) return "the scale of its bias is not stored";
    layer.stored = source->input(0);
    layer.dequantizer = source->id;
    return "";
  }
  // A float bias, maybe behind a pair or a block format that rounds it when the model runs.
  while (source != nullptr && (is_q(*source) || is_dq(*source) || source->domain == kQuarkDomain)) {
    if (!graph.sole_use(bias)) return "its bias is shared";
    bias = source->input(0);
    source = graph.producer(bias);
  }
  if (!is_private_constant(graph, bias)) return "its bias is shared or not stored";
  const ElementType type = graph.value(bias).constant->type();
  if (type != ElementType::kFloat && type != ElementType::kFloat16) return "its bias is not stored as floats";
  layer.stored = bias;
  return "";
}

bool rest_is_constant(const ir::Graph& graph, const ir::Node& node) {
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i].valid() && graph.constant(node.inputs[i]) == nullptr) return false;
  }
  return true;
}

}  // namespace

std::vector<BiasLayer> bias_layers(const ir::Graph& quantized, const ir::Graph& original, Diagnostics& diagnostics) {
  const Walk walk(quantized), float_walk(original);
  const Counterparts counterparts(original);
  std::vector<BiasLayer> layers;
  for (const ir::NodeId id : quantized.order()) {
    const ir::Node& node = quantized.node(id);
    if ((!node.is("Conv") && !node.is("Gemm")) || !node.input(2).valid()) continue;
    const ir::Node* counterpart = counterparts.of(quantized, node);
    if (counterpart == nullptr) continue;
    const ChainEnd end = walk.end_of(node), float_end = float_walk.end_of(*counterpart);
    BiasLayer layer{id, quantized.label(id), node.input(0), end.value, counterpart->input(0), float_end.value, {}, {}};
    std::string reason = find_storage(quantized, node.input(2), layer);
    if (reason.empty() && end.activations != float_end.activations)
      reason = "the float model has other operators behind it";
    if (reason.empty() && !rest_is_constant(original, *counterpart)) reason = "its weight is computed";
    if (reason.empty()) {
      layers.push_back(std::move(layer));
    } else {
      diagnostics.notice("bias-not-corrected", layer.label, reason);
    }
  }
  return layers;
}

}  // namespace quarkq::passes
