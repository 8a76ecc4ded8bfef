// SPDX-License-Identifier: MIT
// bfloat16 rounding in its forms: extended Q/DQ of com.amd.quark instead of Casts, and without the Clips before them.
// The other directions are passes that quantize has: bf16-qdq-to-cast, bf16-with-clip.
#include <algorithm>
#include <array>
#include <cmath>

#include "ir/arguments.h"
#include "qdq/convert/conversions.h"
#include "qdq/pairs.h"

namespace quarkq::qdq {
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
