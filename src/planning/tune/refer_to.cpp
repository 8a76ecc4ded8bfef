// SPDX-License-Identifier: MIT
// RefModelPath (ref:tuning#finetuning-options): what layers should give comes from another model, which may be
// quantized itself.
#include <map>

#include "ir/qdq_nodes.h"
#include "ir/stored_floats.h"
#include "planning/tune/layers.h"

namespace quarkq::planning::finetune {
namespace {

/// A node's name; without one, that of what it makes.
const std::string& reference_name_of(const ir::Graph& graph, const ir::Node& node) {
  return node.name.empty() ? graph.value(node.output(0)).name : node.name;
}

/// Back over Q, DQ and nodes of block formats.
ir::ValueId unquantized(const ir::Graph& graph, ir::ValueId value) {
  for (const ir::Node* node = graph.producer(value); node != nullptr; node = graph.producer(value)) {
    if (!ir::is_q(*node) && !ir::is_dq(*node) && node->domain != ir::kQuarkDomain) break;
    value = node->input(0);
  }
  return value;
}

/// The end after the activation of the layer; the node's result when there is none. Nothing: it is another one.
std::optional<ir::ValueId> end_of(const ir::Graph& graph, const ir::Node& node, const std::string& activation) {
  if (activation.empty()) return node.output(0);
  const std::optional<ir::Use> use = graph.sole_use(node.output(0));
  if (!use || use->input != 0 || graph.node(use->node).op != activation) return {};
  return graph.node(use->node).output(0);
}

/// Empty, or why not.
std::string refer(const ir::Graph& reference, const ir::Node& node, const ir::Graph& original, Layer& layer) {
  const ir::Node& own = original.node(layer.node);
  if (node.op != own.op) return cat("the reference model has a ", node.op, " of this name");
  const ir::Tensor* weights = ir::stored_floats(reference, node.input(1));
  if (weights == nullptr) return "the reference model has no float weights there";
  if (weights->dims() != original.value(layer.exact.weight).constant->dims())
    return "the reference model's weights have another shape";
  if (layer.bias.valid() != node.input(2).valid()) return "only one of both models has a bias there";
  const bool is_bare = layer.exact.end == own.output(0);
  const std::optional<ir::ValueId> end =
      end_of(reference, node, is_bare ? std::string() : original.producer(layer.exact.end)->op);
  if (!end) return "the reference model has another activation after it";
  layer.exact = {unquantized(reference, node.input(0)), *end, node.input(1), node.input(2)};
  return "";
}

}  // namespace

void refer_to(const ir::Graph& reference, const ir::Graph& original, Diagnostics& diagnostics,
              std::vector<Layer>& layers) {
  std::map<std::string, const ir::Node*, std::less<>> nodes;
  for (const ir::NodeId id : reference.order())
    if (reference.node(id).output(0).valid())
      nodes.emplace(reference_name_of(reference, reference.node(id)), &reference.node(id));
  std::erase_if(layers, [&](Layer& layer) {
    const auto found = nodes.find(reference_name_of(original, original.node(layer.node)));
    const std::string reason = found == nodes.end() ? "the reference model has no node of this name"
                                                    : refer(reference, *found->second, original, layer);
    if (!reason.empty()) diagnostics.add("not-finetuned", layer.label, reason);
    return !reason.empty();
  });
}

}  // namespace quarkq::planning::finetune
