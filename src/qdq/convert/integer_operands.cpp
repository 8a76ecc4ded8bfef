// SPDX-License-Identifier: MIT
#include "qdq/convert/integer_operands.h"

#include <cmath>
#include <limits>

#include "ir/constants.h"
#include "ir/edit.h"
#include "numeric/real_numbers.h"
#include "plan/constant_codes.h"
#include "qdq/convert/conversions.h"
#include "qdq/pairs.h"

namespace quarkq::qdq {

namespace {

/// The DQ's integers times its scales, in float64. Nothing for what is not stored integers with scales for one axis.
std::optional<std::vector<double>> exact_values(const ir::Graph& graph, const ir::Node& dq) {
  const ir::Tensor* codes = dq.input(0).valid() ? graph.constant(dq.input(0)) : nullptr;
  const ir::Tensor* scale = dq.input(1).valid() ? graph.constant(dq.input(1)) : nullptr;
  const auto zero_point = zero_point_of(graph, dq);
  if (codes == nullptr || scale == nullptr || !zero_point || !is_integer(codes->type()) || codes->rank() > 1) return {};
  if (scale->size() != 1 && scale->size() != codes->size()) return {};
  const auto integers = ir::to_int64(*codes), zeros = ir::to_int64(*zero_point);
  const auto scales = ir::to_double(*scale);
  if (!integers.ok() || !zeros.ok() || !scales.ok() || zeros.value().size() != scales.value().size()) return {};
  std::vector<double> values(integers.value().size());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t channel = scales.value().size() == 1 ? 0 : i;
    values[i] = static_cast<double>(integers.value()[i] - zeros.value()[channel]) * scales.value()[channel];
  }
  return values;
}

}  // namespace

std::optional<Operand> operand_of(ir::Graph& graph, ir::NodeId id) {
  const ir::Node node = graph.node(id);
  const ir::Tensor* scale = node.input(1).valid() ? graph.constant(node.input(1)) : nullptr;
  const auto zero_point = zero_point_of(graph, node);
  if (scale == nullptr || !zero_point || scale->rank() > 1 || scale->size() == 0 || node.int_or("block_size", 0) != 0 ||
      scale->type() != ElementType::kFloat || zero_point->size() != scale->size())
    return {};
  const auto zeros = ir::to_int64(*zero_point);
  if (!zeros.ok()) return {};
  Operand operand{quantizes(node) ? node.output(0) : node.input(0), node.input(1), node.input(2), zero_point->type()};
  operand.scales = ir::float_values(*scale).value();
  operand.zero_points = zeros.value();
  operand.axis = node.int_or("axis", 1);
  if (!operand.zero_point.valid())
    operand.zero_point = ir::GraphEdit(graph).add_initializer(graph.value(node.input(1)).name + "_zero", *zero_point);
  return operand;
}

bool agrees(const Operand& a, const Operand& b) {
  return a.type == b.type && a.scales == b.scales && a.zero_points == b.zero_points;
}

std::optional<std::vector<double>> bias_values(const ir::Model& model, ir::ValueId bias) {
  const ir::Graph& graph = model.graph;
  const ir::Node* dq = graph.producer(bias);
  if (dq != nullptr && dequantizes(*dq)) return exact_values(graph, *dq);
  const ir::Tensor* stored = graph.constant(bias);
  if (stored == nullptr || graph.value(bias).is_input || !is_floating(stored->type())) return {};
  const auto values = ir::to_double(*stored);
  return values.ok() ? std::optional(values.value()) : std::nullopt;
}

Result<ir::Tensor> encode_bias(const std::vector<double>& values, const std::vector<double>& scales) {
  constexpr double kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<int32_t>::max();
  std::vector<int32_t> codes(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double code = numeric::round_half_even(values[i] / scales[scales.size() == 1 ? 0 : i]);
    if (!(code >= kLeast && code <= kMost))
      return unsupported("its bias ", values[i], " is ", code,
                         " in steps of the product of scales, which exceeds the range of int32");
    codes[i] = static_cast<int32_t>(code);
  }
  return ir::Tensor::from<int32_t>({static_cast<int64_t>(codes.size())}, codes);
}

namespace {

/// The scales of input and weights multiplied; nothing where they are not stored or not of the output channels.
std::optional<std::vector<float>> products(ir::Graph& graph, const ir::Node& layer) {
  std::vector<Operand> sides;
  for (const size_t input : {size_t{0}, size_t{1}}) {
    const ir::Node* dq = ir::source_of(graph, layer, input);
    const auto operand = dq != nullptr && dequantizes(*dq) ? operand_of(graph, dq->id) : std::nullopt;
    if (!operand) return std::nullopt;
    sides.push_back(*operand);
  }
  const ir::Node* dq = ir::source_of(graph, layer, 2);
  const ir::Tensor* bias = graph.constant(dq != nullptr ? dq->input(0) : layer.input(2));
  const auto count = static_cast<int64_t>(sides[1].scales.size());
  if (sides[0].scales.size() != 1 || bias == nullptr) return std::nullopt;
  if (!plan::fits_bias(layer, sides[1].axis, count, bias->dims())) return std::nullopt;
  return plan::bias_scales(sides[0].scales[0], sides[1].scales, /*beta=*/1.0f, static_cast<size_t>(bias->size()));
}

void set_bias(ir::Graph& graph, const ir::Node& dq, ir::Tensor codes, const std::vector<float>& scales) {
  ir::GraphEdit edit(graph);
  const ir::Shape dims = scales.size() == 1 ? ir::Shape{} : ir::Shape{static_cast<int64_t>(scales.size())};
  const ir::Tensor parts[] = {std::move(codes), ir::Tensor::from<float>(dims, scales),
                              ir::Tensor::zeros(ElementType::kInt32, dims)};
  for (size_t i = 0; i < std::size(parts); ++i) {
    const ir::ValueId old = dq.input(i);
    const std::string wanted = (old.valid() ? graph.value(old).name : graph.value(dq.input(0)).name) + "_int32";
    const ir::ValueId made = edit.add_initializer(wanted, parts[i]);
    put_input(edit, graph.node(dq.id), i, made);
  }
  if (!dims.empty()) edit.node(dq.id).set("axis", int64_t{0});
}

}  // namespace

bool has_integer_bias(const ir::Node& node) { return node.is("Conv") || node.is("ConvTranspose") || node.is("Gemm"); }

Result<bool> store_bias_in_int32(pass::ConvertContext& context, ir::NodeId id) {
  ir::Graph& graph = context.graph();
  const ir::Node layer = graph.node(id);
  const ir::Node* source = has_integer_bias(layer) ? ir::source_of(graph, layer, 2) : nullptr;
  if (source == nullptr || !dequantizes(*source) || !source->input(0).valid()) return false;
  const ir::Node dq = *source;
  const auto leave = [&](const std::string& reason) {
    context.leave(id, reason);
    return false;
  };
  const auto values = bias_values(context.model, layer.input(2));
  if (!values) return leave("its bias is not stored, or not with a value for each channel");
  if (!graph.sole_use(dq.output(0))) return leave("its bias has other readers");
  const auto scales = products(graph, layer);
  if (!scales) return leave("its input or weights have no stored scales that fit the bias");
  Result<ir::Tensor> codes = encode_bias(*values, {scales->begin(), scales->end()});
  if (!codes.ok()) return leave(codes.status().message());
  set_bias(graph, dq, std::move(codes).value(), *scales);
  return true;
}

Result<size_t> a8w8_npu_to_cpu(pass::ConvertContext& context) {
  ir::Graph& graph = context.graph();
  size_t changed = 0;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node* dq = has_integer_bias(graph.node(id)) ? ir::source_of(graph, graph.node(id), 2) : nullptr;
    const ir::Tensor* codes = dq != nullptr && dequantizes(*dq) ? graph.constant(dq->input(0)) : nullptr;
    if (codes == nullptr || codes->type() == ElementType::kInt32) continue;
    QQ_TRY(const bool is_stored, store_bias_in_int32(context, id));
    changed += is_stored ? 1 : 0;
  }
  return changed;
}

Result<size_t> adjust_bias_scale(pass::ConvertContext& context) {
  ir::Graph& graph = context.graph();
  size_t changed = 0;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node* dq = has_integer_bias(graph.node(id)) ? ir::source_of(graph, graph.node(id), 2) : nullptr;
    const ir::Tensor* codes = dq != nullptr && dequantizes(*dq) ? graph.constant(dq->input(0)) : nullptr;
    if (codes == nullptr || codes->type() != ElementType::kInt32) continue;
    const auto bias = operand_of(graph, dq->id);
    const auto wanted = products(graph, graph.node(id));
    if (bias && wanted && bias->scales == *wanted) continue;
    QQ_TRY(const bool is_stored, store_bias_in_int32(context, id));
    changed += is_stored ? 1 : 0;
  }
  return changed;
}

}  // namespace quarkq::qdq
