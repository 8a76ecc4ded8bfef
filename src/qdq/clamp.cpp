// SPDX-License-Identifier: MIT
#include "qdq/clamp.h"

#include <algorithm>
#include <cmath>

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

}  // namespace quarkq::qdq
