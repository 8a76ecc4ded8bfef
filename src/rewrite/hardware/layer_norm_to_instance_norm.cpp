// SPDX-License-Identifier: MIT
// LayerNormalization becomes InstanceNormalization of an image with one channel for each row, between two Reshapes;
// scale and bias become Mul and Add. The compiler of X2 takes InstanceNormalization in 8 and 16 bits and
// LayerNormalization in neither.
#include "ir/shape.h"
#include "rewrite/driver.h"
#include "rewrite/hardware/axis_moves.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

namespace {

constexpr int64_t kMostRows = 1 << 16;  // A scale and a bias are stored for each row.

/// The input as a matrix: every row is normalized by itself.
struct Rows {
  int64_t count = 0, length = 0;
};

std::optional<Rows> rows_of(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("LayerNormalization") || !node.output(0).valid() || !node.input(1).valid()) return std::nullopt;
  if (node.output(1).valid() || node.output(2).valid()) return std::nullopt;  // mean and deviation are read
  const std::optional<ir::Shape> dims = element_shape(graph, node.input(0));
  if (!dims || graph.value(node.input(0)).type.element != ElementType::kFloat) return std::nullopt;
  const Result<int64_t> axis = ir::normalize_axis(node.int_or("axis", -1), static_cast<int64_t>(dims->size()));
  if (!axis.ok()) return std::nullopt;
  Rows rows{1, 1};
  for (size_t i = 0; i < dims->size(); ++i)
    (static_cast<int64_t>(i) < axis.value() ? rows.count : rows.length) *= (*dims)[i];
  return rows.count <= kMostRows ? std::optional(rows) : std::nullopt;
}

ir::GraphPatch as_instances(const ir::Graph& graph, const ir::Node& node, Rows rows) {
  const ir::Value& output = graph.value(node.output(0));
  const ir::Shape dims = float_shape(graph, node.input(0)), image = {1, rows.count, 1, rows.length};
  const ir::ValueType type = static_type(ElementType::kFloat, dims);
  const auto of_rows = [&](float value) {
    return ir::Tensor::from<float>({rows.count}, std::vector<float>(static_cast<size_t>(rows.count), value));
  };
  ir::GraphPatch patch;
  patch.remove(node.id);
  const auto moved_to = [&](ir::PatchValue value, const char* suffix, const ir::Shape& shape) {
    return add_moves(patch, value, {{{}, shape}}, {output.name + suffix, ElementType::kFloat});
  };
  const ir::PatchValue rows_as_channels = moved_to(node.input(0), "_rows", image);
  const ir::PatchValue normalized = patch.value(output.name + "_normalized", static_type(ElementType::kFloat, image));
  patch.node({"InstanceNormalization",
              "",
              node.name,
              {rows_as_channels, patch.initializer(output.name + "_ones", of_rows(1)),
               patch.initializer(output.name + "_zeros", of_rows(0))},
              {normalized},
              {{"epsilon", node.float_or("epsilon", 1e-5F), {}, {}}}});
  const ir::PatchValue unscaled = moved_to(normalized, "_unscaled", dims);
  const bool has_bias = node.input(2).valid();
  const ir::PatchValue scaled = has_bias ? patch.value(output.name + "_scaled", type) : ir::PatchValue(output.id);
  patch.node({"Mul", "", output.name + "_scale", {unscaled, node.input(1)}, {scaled}, {}});
  if (has_bias) patch.node({"Add", "", output.name + "_bias", {scaled, node.input(2)}, {output.id}, {}});
  return patch;
}

}  // namespace

Result<Changed> layer_norm_to_instance_norm(pass::FloatContext& context) {
  return run_rule(context, "layer-norm-to-instance-norm", [](const ir::Graph& graph, const ir::Node& node) -> Proposal {
    const std::optional<Rows> rows = rows_of(graph, node);
    return rows ? std::optional(as_instances(graph, node, *rows)) : std::nullopt;
  });
}

}  // namespace quarkq::rewrite
