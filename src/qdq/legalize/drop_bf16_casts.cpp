// SPDX-License-Identifier: MIT
// EnableVaimlBF16 (ref:writing#post-processing): VAIML computes in bfloat16 by itself, so the Casts there and back only
// hinder it. Those on graph inputs stay; stored tensors keep the rounded values.
#include "ir/edit.h"
#include "ir/qdq_nodes.h"
#include "numeric/half.h"
#include "pass/tidy_up.h"
#include "qdq/passes.h"

namespace quarkq::qdq {
namespace {

bool casts_to(const ir::Node& node, ElementType type) {
  return node.is("Cast") && node.int_or("to", 0) == static_cast<int64_t>(type);
}

ir::Tensor rounded(const ir::Tensor& stored) {
  ir::Tensor result = stored;
  for (float& value : result.mutable_data<float>()) value = float_from_bfloat16(bfloat16_from_float(value));
  return result;
}

/// Removes the Cast `back` from bfloat16. False when it has to stay.
bool drop(ir::Graph& graph, const ir::Node& back) {
  const ir::Node* there = ir::source_of(graph, back, 0);
  if (there == nullptr || !casts_to(*there, ElementType::kBFloat16)) return false;
  const ir::Value& source = graph.value(there->input(0));
  const bool is_output = graph.value(back.output(0)).is_output;
  if (source.type.element != ElementType::kFloat || source.is_input || source.is_captured) return false;
  ir::GraphEdit edit(graph);
  ir::ValueId instead = source.id;
  if (source.is_initializer()) {
    if (is_output) return false;
    instead = graph.find(source.name + "_bf16");
    const ir::Tensor stored = rounded(*source.constant);
    if (!instead.valid() || !graph.value(instead).is_initializer() || !graph.value(instead).constant->same_as(stored))
      instead = edit.add_initializer(source.name + "_bf16", stored);
  } else if (is_output && source.is_output) {
    return false;
  }
  edit.replace_value(back.output(0), instead);
  return true;
}

}  // namespace

Result<Changed> drop_bf16_casts(pass::QdqContext& context) {
  ir::Graph& graph = context.graph();
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node node = graph.node(id);
    if (casts_to(node, ElementType::kFloat) && drop(graph, node)) changed = Changed::kYes;
  }
  if (changed == Changed::kYes) ir::GraphEdit(graph).remove_dead();
  return pass::tidy_up(context.graph(), changed);
}

}  // namespace quarkq::qdq
