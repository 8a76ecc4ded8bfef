// SPDX-License-Identifier: MIT
// Q and DQ nodes at the borders of the quantized part: a node that only moves values from a DQ writes a quantized
// tensor, too, and a graph input is quantized once. Neither changes a value, and compilers count both as float nodes
// otherwise.
#include <algorithm>

#include "ir/edit.h"
#include "qdq/pairs.h"
#include "qdq/passes.h"

namespace quarkq::qdq {
namespace {

bool only_moves(const ir::Node& node) {
  constexpr const char* kOps[] = {"Flatten", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"};
  return node.outputs.size() == 1 && std::ranges::any_of(kOps, [&](const char* op) { return node.is(op); });
}

/// Returns the DQ with one scale before a moving node whose readers are not Q nodes, or null.
const ir::Node* border_before(const ir::Graph& graph, const ir::Node& node) {
  const ir::Node* dq = only_moves(node) ? ir::source_of(graph, node, 0) : nullptr;
  const ir::Node* q = dq != nullptr && dequantizes(*dq) ? quantizer_of(graph, *dq) : nullptr;
  if (q == nullptr || !range_of(graph, *q)) return nullptr;
  const std::vector<ir::Use>& uses = graph.value(node.output(0)).uses;
  const bool is_quantized =
      std::ranges::any_of(uses, [&](const ir::Use& use) { return !use.is_capture && quantizes(graph.node(use.node)); });
  return is_quantized ? nullptr : dq;
}

/// Adds a Q and a DQ with the parameters of `dq` after the node, before `next`.
void add_pair_after(ir::Graph& graph, ir::NodeId id, ir::NodeId dq_id, ir::NodeId next) {
  ir::GraphEdit edit(graph);
  const ir::Node node = graph.node(id), dq = graph.node(dq_id), q = *quantizer_of(graph, dq);
  const ir::ValueId output = node.output(0);
  const std::string name = graph.value(output).name;
  ir::ValueType codes = graph.value(output).type;
  codes.element = code_type(graph, q);
  const ir::ValueId moved = edit.add_value(name + "_QuantizeLinear_Input", graph.value(output).type);
  const ir::ValueId integers = edit.add_value(name + "_QuantizeLinear_Output", std::move(codes));
  edit.set_output(id, 0, moved);
  const auto add = [&](const ir::Node& model, ir::ValueId from, ir::ValueId to, const char* suffix) {
    ir::NodeSpec spec{model.op, model.domain, name + suffix, model.inputs, {to}, model.attributes, node.origins};
    spec.inputs[0] = from;
    edit.add_node(std::move(spec), next);
  };
  add(q, moved, integers, "_QuantizeLinear");
  add(dq, integers, output, "_DequantizeLinear");
}

bool has_same_parameters(const ir::Graph& graph, const ir::Node& a, const ir::Node& b) {
  const auto one = range_of(graph, a), other = range_of(graph, b);
  return a.op == b.op && a.domain == b.domain && one && other && one->type == other->type &&
         one->scale == other->scale && one->zero_point == other->zero_point;
}

/// Removes further Q nodes of a graph input that compute the same integers as the first one.
bool merge_quantizers_of(ir::Graph& graph, ir::ValueId input) {
  std::vector<ir::NodeId> quantizers;
  for (const ir::Use& use : graph.value(input).uses) {
    if (!use.is_capture && use.input == 0 && quantizes(graph.node(use.node))) quantizers.push_back(use.node);
  }
  bool is_changed = false;
  for (size_t i = 1; i < quantizers.size(); ++i) {
    const ir::Node &first = graph.node(quantizers[0]), &other = graph.node(quantizers[i]);
    if (graph.value(other.output(0)).is_output || !has_same_parameters(graph, first, other)) continue;
    ir::GraphEdit edit(graph);
    edit.replace_uses(other.output(0), first.output(0));
    edit.remove_node(quantizers[i]);
    is_changed = true;
  }
  return is_changed;
}

}  // namespace

Result<Changed> quantize_edges(pass::QdqContext& context) {
  ir::Graph& graph = context.graph();
  Changed changed = Changed::kNo;
  const std::vector<ir::NodeId> order = graph.order();
  for (size_t i = 0; i < order.size(); ++i) {
    const ir::Node* dq = border_before(graph, graph.node(order[i]));
    if (dq == nullptr) continue;
    add_pair_after(graph, order[i], dq->id, i + 1 < order.size() ? order[i + 1] : ir::NodeId{});
    changed = Changed::kYes;
  }
  return changed;
}

Result<Changed> merge_input_quantizers(pass::QdqContext& context) {
  ir::Graph& graph = context.graph();
  Changed changed = Changed::kNo;
  for (const ir::ValueId input : std::vector<ir::ValueId>(graph.inputs())) {
    if (merge_quantizers_of(graph, input)) changed = Changed::kYes;
  }
  if (changed == Changed::kYes) ir::GraphEdit(graph).remove_dead();
  return changed;
}

}  // namespace quarkq::qdq
