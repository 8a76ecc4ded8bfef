// SPDX-License-Identifier: MIT
// Between the domains of Q/DQ nodes: extended ones of integers compute what those of ONNX Runtime do.
#include <algorithm>

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

}  // namespace quarkq::qdq
