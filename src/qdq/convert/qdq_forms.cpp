// SPDX-License-Identifier: MIT
// Conversion between domains of Q/DQ nodes: extended Q/DQ of integers compute the same as ONNX Runtime's.
#include <algorithm>
#include <array>
#include <cmath>

#include "ir/constants.h"
#include "qdq/convert/conversions.h"
#include "qdq/pairs.h"

namespace quarkq::qdq {

namespace {

/// ai.onnx has Q/DQ of 8 bits from opset 13 with axes, of 16 bits from 21.
constexpr int64_t kOpsetOfAxes = 13, kOpsetOf16Bits = 21;

/// Why the node cannot become one of the other domain; empty when it can.
std::string obstacle(const pass::ConvertContext& context, const ir::Node& node, const std::string& domain) {
  const auto zero_point = zero_point_of(context.graph(), node);
  if (!zero_point) return "its zero point is computed";
  const ElementType type = zero_point->type();
  if (!is_integer(type) || bits(type) > 32)
    return cat("its zero point is ", name(type), ", which only com.amd.quark has");
  if (type == ElementType::kInt32) {
    const std::vector<int64_t> zeros = ir::to_int64(*zero_point).value();
    if (quantizes(node)) return "it quantizes to INT32";
    if (std::ranges::any_of(zeros, [](int64_t zero) { return zero != 0; })) return "its INT32 zero point is not 0";
  }
  if (!domain.empty()) return {};
  const int64_t needed = bits(type) == 16 ? kOpsetOf16Bits : kOpsetOfAxes;
  if (context.model.opset() < needed)
    return cat(name(type), " needs opset ", needed, " in ai.onnx, this is ", context.model.opset());
  return {};
}

}  // namespace

Result<size_t> custom_qdq_to_qdq(pass::ConvertContext& context) {
  const std::string& wanted = context.options.text("domain");
  if (wanted != ir::kMicrosoftDomain && wanted != "ai.onnx")
    return invalid_argument("option domain: found ", wanted, ", allowed are com.microsoft and ai.onnx");
  const std::string domain = wanted == "ai.onnx" ? "" : wanted;
  ir::Graph& graph = context.graph();
  ir::GraphEdit edit(graph);
  size_t changed = 0;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node node = graph.node(id);
    const bool is_other = ir::is_extended_q(node) || ir::is_extended_dq(node) || node.domain == ir::kMicrosoftDomain;
    if ((!quantizes(node) && !dequantizes(node)) || !is_other || node.domain == domain || !node.output(0).valid())
      continue;
    if (std::string reason = obstacle(context, node, domain); !reason.empty()) {
      context.leave(id, std::move(reason));
      continue;
    }
    ir::NodeSpec spec{quantizes(node) ? "QuantizeLinear" : "DequantizeLinear", domain, node.name, node.inputs, {}};
    spec.origins = node.origins;
    if (const ir::Attribute* axis = node.find("axis")) spec.attributes.push_back(*axis);
    const ir::NodeId made = edit.add_node(std::move(spec), id);
    edit.remove_node(id);
    edit.set_output(made, 0, node.output(0));
    ++changed;
  }
  if (changed > 0 && !domain.empty() && context.model.opset(domain) == 0) context.model.set_opset(domain, 1);
  return changed;
}

// bfloat16 rounding in its forms: extended Q/DQ of com.amd.quark instead of Casts, and without the Clips before them.
// The other directions are passes that quantize has: bf16-qdq-to-cast, bf16-with-clip.

namespace {

constexpr double kFiniteLimit = 3.38953139e38;  // the largest finite one

bool is_cast_to(const ir::Node& node, ElementType to) {
  return node.is("Cast") && node.int_or("to", 0) == static_cast<int64_t>(to);
}

/// A Cast of float32 to bfloat16, of which nothing is read but Casts back.
bool is_rounding(const ir::Graph& graph, const ir::Node& cast) {
  if (!is_cast_to(cast, ElementType::kBFloat16) || !cast.input(0).valid() || !cast.output(0).valid()) return false;
  const ir::Value& rounded = graph.value(cast.output(0));
  return graph.value(cast.input(0)).type.element == ElementType::kFloat && !rounded.is_output &&
         std::ranges::all_of(rounded.uses, [&](const ir::Use& use) {
           return !use.is_capture && is_cast_to(graph.node(use.node), ElementType::kFloat);
         });
}

/// The node as an extended Q or DQ with scale 1 and zero point 0.
void write_extended(ir::Graph& graph, ir::NodeId id, const char* op, const std::array<ir::ValueId, 2>& parameters) {
  ir::GraphEdit edit(graph);
  const ir::Node cast = graph.node(id);
  const ir::NodeId made = edit.add_node(
      {op, ir::kQuarkDomain, cast.name, {cast.input(0), parameters[0], parameters[1]}, {}, {}, cast.origins}, id);
  edit.remove_node(id);
  edit.set_output(made, 0, cast.output(0));
}

bool is_wide_limit(std::optional<double> limit, double wanted) {
  return limit && std::abs(*limit - wanted) <= 1e-6 * kFiniteLimit;
}

}  // namespace

Result<size_t> bf16_cast_to_qdq(pass::ConvertContext& context) {
  ir::Graph& graph = context.graph();
  ir::GraphEdit edit(graph);
  std::array<ir::ValueId, 2> parameters;
  size_t changed = 0;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    if (!graph.is_alive(id) || !is_rounding(graph, graph.node(id))) continue;
    if (!parameters[0].valid())
      parameters = {edit.add_initializer("bf16_scale", ir::Tensor::scalar(1.0f)),
                    edit.add_initializer("bf16_zero_point", ir::Tensor::zeros(ElementType::kBFloat16, {}))};
    for (const ir::Use& use : std::vector<ir::Use>(graph.value(graph.node(id).output(0)).uses))
      write_extended(graph, use.node, "ExtendedDequantizeLinear", parameters);
    write_extended(graph, id, "ExtendedQuantizeLinear", parameters);
    ++changed;
  }
  if (changed > 0 && context.model.opset(ir::kQuarkDomain) == 0) context.model.set_opset(ir::kQuarkDomain, 1);
  return changed;
}

Result<size_t> bf16_without_clip(pass::ConvertContext& context) {
  ir::Graph& graph = context.graph();
  size_t removed = 0;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node& clip = graph.node(id);
    if (!clip.is("Clip") || !clip.input(0).valid() || !clip.output(0).valid() ||
        !is_wide_limit(ir::number_of(graph, clip, 1, "min", 0), -kFiniteLimit) ||
        !is_wide_limit(ir::number_of(graph, clip, 2, "max", 0), kFiniteLimit))
      continue;
    bypass(graph, id, clip.input(0));
    ++removed;
  }
  return removed;
}

}  // namespace quarkq::qdq
