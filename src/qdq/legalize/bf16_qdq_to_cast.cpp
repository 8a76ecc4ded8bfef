// SPDX-License-Identifier: MIT
// BF16QDQToCast (ref:writing#post-processing): extended bfloat16 Q and DQ nodes as Cast, with a Mul where they have a
// scale.
#include <algorithm>

#include "ir/edit.h"
#include "ir/qdq_nodes.h"
#include "pass/tidy_up.h"
#include "qdq/passes.h"

namespace quarkq::qdq {
namespace {

bool is_zero(const ir::Tensor& bf16) {
  const auto codes = bf16.data<uint16_t>();
  return std::all_of(codes.begin(), codes.end(), [](uint16_t code) { return (code & 0x7FFF) == 0; });
}

/// The one scale of a node that a Cast can replace; null for the others.
const ir::Tensor* castable_scale(const ir::Graph& graph, const ir::Node& node) {
  if (!ir::has_bf16_zero_point(graph, node) || !is_zero(*graph.constant(node.input(2)))) return nullptr;
  const ir::Tensor* scale = node.input(1).valid() ? graph.constant(node.input(1)) : nullptr;
  return scale != nullptr && scale->type() == ElementType::kFloat && scale->size() == 1 ? scale : nullptr;
}

/// A value that is made.
struct NewValue {
  std::string name;
  ir::ValueType type;
};

/// An unnamed node that writes `output`.
void append_to(ir::GraphEdit& edit, ir::NodeSpec spec, ir::ValueId output, ir::NodeId before) {
  spec.outputs = {output};
  edit.add_node(std::move(spec), before);
}

/// An unnamed node that writes a new value; returns that.
ir::ValueId append(ir::GraphEdit& edit, ir::NodeSpec spec, NewValue made, ir::NodeId before) {
  const ir::ValueId output = edit.add_value(std::move(made.name), std::move(made.type));
  append_to(edit, std::move(spec), output, before);
  return output;
}

void replace(ir::Graph& graph, const ir::Node& node, const ir::Tensor& scale) {
  ir::GraphEdit edit(graph);
  const float factor = scale.data<float>()[0];
  const bool scaled = factor != 1.0f, quantizes = ir::is_extended_q(node);
  ir::ValueType float_type = graph.value(node.output(0)).type;
  float_type.element = ElementType::kFloat;
  const ir::ValueId output = node.output(0);
  const ir::NodeId next = node.id;
  const auto stored_scale = [&](float value) {
    return edit.add_initializer(node.name + "_scale", ir::Tensor::from<float>(scale.dims(), std::vector<float>{value}));
  };
  const auto cast_from = [&](ir::ValueId from, ElementType to) {
    return ir::NodeSpec{"Cast", "", "", {from}, {}, {{"to", static_cast<int64_t>(to), {}, {}}}, node.origins};
  };
  // The new nodes write the old output once the old node no longer does.
  const ir::ValueId freed = edit.add_value("");
  edit.set_output(node.id, 0, freed);
  ir::ValueId from = node.input(0);
  const auto scaled_by = [&](float value) {
    return ir::NodeSpec{"Mul", "", "", {from, stored_scale(value)}, {}, {}, node.origins};
  };
  if (quantizes) {
    if (scaled) from = append(edit, scaled_by(1.0f / factor), {node.name + "_mul_out", float_type}, next);
    append_to(edit, cast_from(from, ElementType::kBFloat16), output, next);
  } else if (scaled) {
    from = append(edit, cast_from(from, ElementType::kFloat), {node.name + "_cast_out", float_type}, next);
    append_to(edit, scaled_by(factor), output, next);
  } else {
    append_to(edit, cast_from(from, ElementType::kFloat), output, next);
  }
  edit.remove_node(node.id);
  edit.remove_value(freed);
}

}  // namespace

Result<Changed> bf16_qdq_to_cast(pass::QdqContext& context) {
  ir::Graph& graph = context.graph();
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node node = graph.node(id);
    const ir::Tensor* scale = castable_scale(graph, node);
    if (scale == nullptr) continue;
    replace(graph, node, ir::Tensor(*scale));
    changed = Changed::kYes;
  }
  return pass::tidy_up(context.graph(), changed);
}

}  // namespace quarkq::qdq
