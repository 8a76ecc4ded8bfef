// SPDX-License-Identifier: MIT
#include "qdq/pairs.h"

#include <algorithm>
#include <cmath>

#include "exec/compile.h"
#include "ir/edit.h"

namespace quarkq::qdq {

namespace {

/// Operators whose results have both signs, so that a range from 0 on means that something clamped them.
constexpr const char* kSigned[] = {"Conv",
                                   "ConvTranspose",
                                   "Gemm",
                                   "MatMul",
                                   "Add",
                                   "Sub",
                                   "Mul",
                                   "Div",
                                   "BatchNormalization",
                                   "Einsum",
                                   "LayerNormalization",
                                   "InstanceNormalization"};
constexpr int64_t kOpsetOfClipInputs = 11;

void add_clamp(ir::Model& model, ir::NodeId producer, ir::ValueId value, bool is_clip6) {
  const ir::Graph& graph = model.graph;
  ir::GraphEdit edit(model.graph);
  const std::vector<ir::NodeId>& order = graph.order();
  const auto next = std::ranges::find(order, producer) + 1;
  const ir::NodeId before = next == order.end() ? ir::NodeId{} : *next;
  const ir::ValueId unclamped = edit.add_value(graph.value(value).name + "_unclamped", graph.value(value).type);
  const auto& outputs = graph.node(producer).outputs;
  const auto index = static_cast<size_t>(std::ranges::find(outputs, value) - outputs.begin());
  edit.set_output(producer, index, unclamped);
  ir::NodeSpec spec{is_clip6 ? "Clip" : "Relu", "", graph.value(value).name + "_clamp", {unclamped}, {value}};
  spec.origins = graph.node(producer).origins;
  if (is_clip6 && model.opset() < kOpsetOfClipInputs) {
    spec.attributes = {ir::Attribute{"min", 0.0f, {}, {}}, ir::Attribute{"max", 6.0f, {}, {}}};
  } else if (is_clip6) {
    spec.inputs.push_back(edit.add_initializer("clip_min", ir::Tensor::scalar(0.0f)));
    spec.inputs.push_back(edit.add_initializer("clip_max", ir::Tensor::scalar(6.0f)));
  }
  edit.add_node(std::move(spec), before);
}

}  // namespace

bool may_clamp(const ir::Graph& graph, ir::ValueId value, const PairRange& range) {
  const ir::Node* producer = graph.producer(value);
  if (producer == nullptr) return false;
  const bool is_signed = std::ranges::any_of(kSigned, [&](const char* op) { return producer->is(op); });
  return is_signed && range.zero_point == numeric::integer_range(range.type, numeric::RangeKind::kFull).min;
}

void restore_clamp(ir::Model& model, ir::ValueId value, const PairRange& range) {
  if (!may_clamp(model.graph, value, range)) return;
  const auto [qmin, qmax] = numeric::integer_range(range.type, numeric::RangeKind::kFull);
  const double step = static_cast<double>(range.scale);
  const double most = step * (static_cast<double>(qmax) - static_cast<double>(qmin));
  constexpr double kMostOfClip6 = 6;
  add_clamp(model, model.graph.producer(value)->id, value, std::abs(most - kMostOfClip6) <= step);
}

namespace {

bool is_constant(const ir::Graph& graph, ir::ValueId id) { return id.valid() && graph.constant(id) != nullptr; }

std::optional<Activation> activation_of(const ir::Graph& graph, const ir::Node& q) {
  const bool is_known = q.input(0).valid() && q.output(0).valid() && is_constant(graph, q.input(1)) &&
                        (!q.input(2).valid() || is_constant(graph, q.input(2)));
  if (!quantizes(q) || !is_known || is_constant(graph, q.input(0))) return std::nullopt;
  const ir::Value& codes = graph.value(q.output(0));
  if (codes.is_output) return std::nullopt;
  Activation activation{q.id, {}};
  for (const ir::Use& use : codes.uses) {
    const ir::Node& dq = graph.node(use.node);
    const bool is_plain = !use.is_capture && use.input == 0 && dequantizes(dq) && dq.output(0).valid() &&
                          is_constant(graph, dq.input(1)) && (!dq.input(2).valid() || is_constant(graph, dq.input(2)));
    if (!is_plain) return std::nullopt;
    activation.dequantizers.push_back(use.node);
  }
  return activation;
}

}  // namespace

const ir::Node* quantizer_of(const ir::Graph& graph, const ir::Node& dq) {
  const ir::Node* source = ir::source_of(graph, dq, 0);
  return source != nullptr && quantizes(*source) ? source : nullptr;
}

std::vector<Activation> activations(const ir::Graph& graph) {
  std::vector<Activation> all;
  for (const ir::NodeId id : graph.order()) {
    if (std::optional<Activation> one = activation_of(graph, graph.node(id))) all.push_back(std::move(*one));
  }
  return all;
}

ElementType code_type(const ir::Graph& graph, const ir::Node& node) {
  const auto type_of = [&](ir::ValueId value) {
    const ir::Tensor* stored = value.valid() ? graph.constant(value) : nullptr;
    if (stored != nullptr) return stored->type();
    return value.valid() ? graph.value(value).type.element : ElementType::kUndefined;
  };
  if (const ElementType own = type_of(node.input(2)); own != ElementType::kUndefined) return own;
  if (quantizes(node)) {
    const auto given = element_type_from_wire(static_cast<int32_t>(node.int_or("output_dtype", 0)));
    return given.value_or(ElementType::kUndefined) == ElementType::kUndefined ? ElementType::kUInt8 : *given;
  }
  const ir::Node* source = quantizer_of(graph, node);
  if (source != nullptr) return code_type(graph, *source);
  const ElementType codes = type_of(node.input(0));
  return codes == ElementType::kUndefined ? ElementType::kUInt8 : codes;
}

std::optional<ir::Tensor> zero_point_of(const ir::Graph& graph, const ir::Node& node) {
  if (node.input(2).valid()) {
    const ir::Tensor* stored = graph.constant(node.input(2));
    return stored == nullptr ? std::nullopt : std::optional(*stored);
  }
  const ir::Tensor* scale = node.input(1).valid() ? graph.constant(node.input(1)) : nullptr;
  return scale == nullptr ? std::nullopt : std::optional(ir::Tensor::zeros(code_type(graph, node), scale->dims()));
}

std::optional<PairRange> range_of(const ir::Graph& graph, const ir::Node& q) {
  const ir::Tensor* scale = q.input(1).valid() ? graph.constant(q.input(1)) : nullptr;
  const auto zero_point = zero_point_of(graph, q);
  if (scale == nullptr || !zero_point || scale->size() != 1 || zero_point->size() != 1) return std::nullopt;
  if (!is_integer(zero_point->type())) return std::nullopt;
  const auto zero = ir::to_int64(*zero_point);
  const auto step = ir::to_double(*scale);
  if (!zero.ok() || !step.ok()) return std::nullopt;
  return PairRange{zero_point->type(), static_cast<float>(step.value()[0]), zero.value()[0]};
}

void bypass(ir::Graph& graph, ir::NodeId node, ir::ValueId instead) {
  ir::GraphEdit edit(graph);
  const ir::ValueId output = graph.node(node).output(0);
  const ir::Value& source = graph.value(instead);
  if (graph.value(output).is_output && (source.is_output || !source.producer.valid())) {
    const ir::Node& old = graph.node(node);
    const ir::NodeId identity = edit.add_node({"Identity", "", old.name, {instead}, {}, {}, old.origins}, node);
    edit.remove_node(node);
    edit.set_output(identity, 0, output);
    edit.mutable_value(output).type = source.type;
    return;
  }
  edit.remove_node(node);
  edit.replace_value(output, instead);
  edit.remove_value(output);
}

void put_input(ir::GraphEdit& edit, const ir::Node& node, size_t input, ir::ValueId value) {
  if (input < node.inputs.size()) {
    edit.set_input(node.id, input, value);
  } else {
    edit.append_input(node.id, value);
  }
}

void remove_unread_quantizers(ir::Graph& graph) {
  ir::GraphEdit edit(graph);
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::ValueId output = graph.node(id).output(0);
    if (!quantizes(graph.node(id)) || !output.valid() || graph.use_count(output) > 0) continue;
    edit.remove_node(id);
    edit.remove_value(output);
  }
}

Result<ir::Tensor> dequantized(const ir::Model& model, const ir::Node& dq) {
  std::vector<const ir::Tensor*> inputs;
  for (const ir::ValueId input : dq.inputs) {
    inputs.push_back(input.valid() ? model.graph.constant(input) : nullptr);
    if (input.valid() && inputs.back() == nullptr)
      return unsupported(model.graph.label(dq.id), ": ", model.graph.value(input).name,
                         " is computed, stored integers ", "need a stored scale and zero point");
  }
  QQ_TRY(std::vector<ir::Tensor> results,
         exec::evaluate_node(model.graph, model.opsets, dq.id, inputs).context(model.graph.label(dq.id)));
  if (results.empty()) return unsupported(model.graph.label(dq.id), ": its stored integers cannot be dequantized");
  return std::move(results[0]);
}

}  // namespace quarkq::qdq
