// SPDX-License-Identifier: MIT
#include "qdq/convert/integer_operands.h"

#include <cmath>
#include <limits>

#include "ir/edit.h"
#include "ir/stored_floats.h"
#include "numeric/rounding.h"
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
                         " in steps of the product of scales, which int32 cannot hold");
    codes[i] = static_cast<int32_t>(code);
  }
  return ir::Tensor::from<int32_t>({static_cast<int64_t>(codes.size())}, codes);
}

}  // namespace quarkq::qdq
