// SPDX-License-Identifier: MIT
// BF16QDQToCast (ref:writing#post-processing): extended bfloat16 Q and DQ nodes as Cast, with a Mul where they have a
// scale.
#include <algorithm>
#include <map>

#include "ir/constants.h"
#include "ir/edit.h"
#include "ir/quantizing_ops.h"
#include "numeric/element_type.h"
#include "pass/output_guard.h"
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

// EnableVaimlBF16 (ref:writing#post-processing): VAIML computes in bfloat16 by itself, so the Casts there and back only
// hinder it. Those on graph inputs stay; stored tensors keep the rounded values.

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

// BF16WithClip (ref:writing#post-processing): bfloat16 rounds values beyond its largest number to infinity, so
// activations are clipped first.

namespace {

constexpr float kLargestBfloat16 = 3.38953139e38f;  // the largest finite bfloat16

bool is_clipped(const ir::Graph& graph, ir::ValueId value) {
  const ir::Node* clip = graph.producer(value);
  return clip != nullptr && clip->is("Clip") &&
         ir::number_of(graph, *clip, 1, "min", 0) == -static_cast<double>(kLargestBfloat16) &&
         ir::number_of(graph, *clip, 2, "max", 0) == static_cast<double>(kLargestBfloat16);
}

}  // namespace

Result<Changed> bf16_with_clip(pass::QdqContext& context) {
  ir::Graph& graph = context.graph();
  ir::GraphEdit edit(graph);
  std::map<ir::ValueId, ir::ValueId> clipped;  // dedicated pairs share one Clip
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node& node = graph.node(id);
    if (!ir::is_extended_q(node) || !ir::has_bf16_zero_point(graph, node)) continue;
    const ir::ValueId source = node.input(0);
    if (graph.value(source).is_initializer() || is_clipped(graph, source)) continue;
    ir::ValueId& output = clipped[source];
    if (!output.valid()) {
      const std::string name = graph.value(source).name;
      const ir::ValueId low = edit.add_initializer(name + "_clip_min", ir::Tensor::scalar(-kLargestBfloat16));
      const ir::ValueId high = edit.add_initializer(name + "_clip_max", ir::Tensor::scalar(kLargestBfloat16));
      output = edit.add_value(name + "_clip_output", graph.value(source).type);
      edit.add_node({"Clip", "", "", {source, low, high}, {output}}, id);
    }
    edit.set_input(id, 0, output);
    changed = Changed::kYes;
  }
  return pass::tidy_up(context.graph(), changed);
}

}  // namespace quarkq::qdq
