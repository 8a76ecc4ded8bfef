// SPDX-License-Identifier: MIT
// Rules about Q, DQ and their parameters.
#include <algorithm>
#include <cmath>

#include "ir/quantizing_ops.h"
#include "targets/rules.h"

namespace quarkq::targets {
namespace {

constexpr double kSameScale = 1e-5;  ///< relative; scales are float32 products

bool is_pair(const QuantizedView& view, ir::NodeId id) {
  return view.kind(id) == NodeKind::kQuantize || view.kind(id) == NodeKind::kDequantize;
}

int width_of(const QuantizedView& view, const ir::Node& node) {
  const bool is_dq = view.kind(node.id) == NodeKind::kDequantize;
  const ir::ValueId integers = is_dq ? node.input(0) : node.output(0);
  if (!integers.valid()) return 0;
  const ir::Tensor* zero_point = node.input(2).valid() ? view.graph().constant(node.input(2)) : nullptr;
  return bits(zero_point != nullptr ? zero_point->type() : view.graph().value(integers).type.element);
}

/// One hit for the whole model, at the first node, with how many there are.
template <typename Holds>
void count_nodes(const RuleInput& input, Hits& hits, const char* what, const Holds& holds) {
  size_t count = 0;
  for (const ir::NodeId id : input.view.order) count += holds(input.view.node(id)) ? 1 : 0;
  if (count > 0) hits.push_back({{}, cat(count, " ", what)});
}

/// One hit for each tensor whose parameters fulfil `holds`; Q and DQ of a tensor count once.
template <typename Holds>
void for_parameters(const RuleInput& input, Hits& hits, const Holds& holds) {
  for (const Parameters& one : input.view.parameters) {
    const ir::NodeId id = one.node;
    const bool is_second = input.view.kind(id) == NodeKind::kDequantize && !one.is_stored &&
                           input.view.is_from_pair(input.view.node(id).input(0));
    if (is_second || !holds(one)) continue;
    hits.push_back({{}, cat("tensor ", input.view.graph().value(input.view.node(id).input(0)).name)});
  }
}

bool any_element(const ir::Tensor* tensor, const auto& holds) {
  if (tensor == nullptr) return false;
  const Result<std::vector<int64_t>> values = ir::to_int64(*tensor);
  return values.ok() && std::any_of(values.value().begin(), values.value().end(), holds);
}

bool is_bias(const Parameters& one) { return one.is_stored && one.type == ElementType::kInt32; }

bool is_signed(ElementType type) {
  return type == ElementType::kInt8 || type == ElementType::kInt16 || type == ElementType::kInt32 ||
         type == ElementType::kInt4;
}

/// The scale of the DQ that makes `value`, if it has one element.
std::optional<double> scale_at(const QuantizedView& view, ir::ValueId value) {
  const ir::Node* dq = value.valid() ? view.graph().producer(value) : nullptr;
  if (dq == nullptr || view.kind(dq->id) != NodeKind::kDequantize || !dq->input(1).valid()) return std::nullopt;
  const ir::Tensor* scale = view.graph().constant(dq->input(1));
  if (scale == nullptr || scale->size() != 1) return std::nullopt;
  const Result<std::vector<double>> read = ir::to_double(*scale);
  return read.ok() ? std::optional<double>(read.value()[0]) : std::nullopt;
}

}  // namespace

void rule_float_operator(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> std::optional<std::string> {
    if (!input.groups.left_float(node.id)) return std::nullopt;
    return "not between DQ and Q";
  });
}

void rule_qdq_microsoft(const RuleInput& input, Hits& hits) {
  count_nodes(input, hits, "8-bit Q/DQ in com.microsoft", [&](const ir::Node& node) {
    return is_pair(input.view, node.id) && node.domain == ir::kMicrosoftDomain && width_of(input.view, node) == 8;
  });
}

void rule_qdq_quark(const RuleInput& input, Hits& hits) {
  count_nodes(input, hits, "nodes in com.amd.quark",
              [](const ir::Node& node) { return node.domain == ir::kQuarkDomain; });
}

void rule_qdq_vitis(const RuleInput& input, Hits& hits) {
  count_nodes(input, hits, "nodes in com.vai.quantize",
              [](const ir::Node& node) { return node.domain == ir::kVitisDomain; });
}

void rule_qdq_16_below_21(const RuleInput& input, Hits& hits) {
  constexpr int64_t kOpsetWith16Bits = 21;
  if (input.view.model->opset() >= kOpsetWith16Bits) return;
  count_nodes(input, hits, "16-bit Q/DQ in ai.onnx", [&](const ir::Node& node) {
    return is_pair(input.view, node.id) && node.domain.empty() && width_of(input.view, node) == 16;
  });
}

void rule_qdq_microscaling(const RuleInput& input, Hits& hits) {
  constexpr ElementType kTypes[] = {ElementType::kFloat8E8M0, ElementType::kFloat6E2M3, ElementType::kFloat6E3M2,
                                    ElementType::kFloat4E2M1};
  const ir::Graph& graph = input.view.graph();
  const auto is_one = [&](ir::ValueId value) {
    if (!value.valid()) return false;
    const ir::Tensor* constant = graph.constant(value);
    const ElementType type = constant != nullptr ? constant->type() : graph.value(value).type.element;
    return std::ranges::find(kTypes, type) != std::end(kTypes);
  };
  count_nodes(input, hits, "Q/DQ of FLOAT6 or FLOAT4E2M1, or with FLOAT8E8M0 scales", [&](const ir::Node& node) {
    return is_pair(input.view, node.id) && (is_one(node.input(1)) || is_one(node.input(0)) || is_one(node.output(0)));
  });
}

void rule_shared_dq(const RuleInput& input, Hits& hits) {
  count_nodes(input, hits, "DequantizeLinear with several readers", [&](const ir::Node& node) {
    return input.view.kind(node.id) == NodeKind::kDequantize && node.output(0).valid() &&
           input.view.graph().use_count(node.output(0)) > 1;
  });
}

void rule_scale_not_power_of_two(const RuleInput& input, Hits& hits) {
  for_parameters(input, hits, [](const Parameters& one) { return !is_bias(one) && !is_power_of_two(*one.scale); });
}

void rule_per_channel_scale(const RuleInput& input, Hits& hits) {
  for_parameters(input, hits, [](const Parameters& one) { return one.scale->size() > 1; });
}

void rule_weight_zero_point(const RuleInput& input, Hits& hits) {
  for_parameters(input, hits, [](const Parameters& one) {
    return one.is_stored && any_element(one.zero_point, [](int64_t value) { return value != 0; });
  });
}

void rule_activation_zero_point(const RuleInput& input, Hits& hits) {
  for_parameters(input, hits, [](const Parameters& one) {
    const int64_t middle = is_signed(one.type) ? 0 : int64_t{1} << (std::max(bits(one.type), 1) - 1);
    if (one.is_stored) return false;
    if (one.zero_point == nullptr) return middle != 0;
    return any_element(one.zero_point, [&](int64_t value) { return value != middle; });
  });
}

void rule_zero_point_not_0(const RuleInput& input, Hits& hits) {
  for_parameters(input, hits, [](const Parameters& one) {
    return any_element(one.zero_point, [](int64_t value) { return value != 0; });
  });
}

void rule_bias_int32(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> std::optional<std::string> {
    if (!takes_bias(node)) return std::nullopt;
    const ir::Node* dq = ir::source_of(input.view.graph(), node, 2);
    if (dq == nullptr || width_of(input.view, *dq) != 32) return std::nullopt;
    return "int32 bias";
  });
}

void rule_bias_scale(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> std::optional<std::string> {
    if (!takes_bias(node)) return std::nullopt;
    const ir::Node* dq = ir::source_of(input.view.graph(), node, 2);
    if (dq == nullptr || width_of(input.view, *dq) <= 8) return std::nullopt;  // a position of its own that is the same
    const std::optional<double> x = scale_at(input.view, node.input(0)), w = scale_at(input.view, node.input(1)),
                                b = scale_at(input.view, node.input(2));
    if (!x || !w || !b || std::abs(*b - *x * *w) > kSameScale * *x * *w) return std::nullopt;
    return "scale of the bias: scale of input times scale of weight";
  });
}

}  // namespace quarkq::targets
