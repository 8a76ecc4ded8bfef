// SPDX-License-Identifier: MIT
// LayerNormalization and its relatives of a tensor [A, B, C] compute on [1, A, B, C], between two Reshapes. A compiler
// left those of rank 3 to the CPU.
#include <algorithm>

#include "rewrite/driver.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

namespace {

constexpr size_t kRank = 3;

bool is_row_normalization(const ir::Node& node) {
  return node.is("LayerNormalization") || node.is("RMSNormalization") || node.is("SimplifiedLayerNormalization");
}

/// Scale and bias broadcast from the last axis, so that their ranks do not matter.
bool fits(const ir::Graph& graph, const ir::Node& node) {
  if (!is_row_normalization(node) || !node.input(0).valid() || !node.output(0).valid()) return false;
  const ir::ValueType& type = graph.value(node.input(0)).type;
  const bool has_statistics = node.output(1).valid() || node.output(2).valid();
  if (has_statistics || !type.is_static() || type.dims.size() != kRank) return false;
  return std::ranges::none_of(type.dims, [](const ir::Dim& dim) { return dim.size == 0; });  // 0 means "as before"
}

ir::ValueType with_leading_1(ir::ValueType type) {
  type.dims.insert(type.dims.begin(), {1, {}});
  return type;
}

ir::GraphPatch at_rank_4(const ir::Graph& graph, const ir::Node& node) {
  const ir::Value &input = graph.value(node.input(0)), &output = graph.value(node.output(0));
  const ir::Shape dims = input.type.shape();
  ir::Shape wide = dims;
  wide.insert(wide.begin(), 1);
  const auto stored = [](const ir::Shape& shape) {
    return ir::Tensor::from<int64_t>({static_cast<int64_t>(shape.size())}, shape);
  };
  ir::GraphPatch patch;
  patch.remove(node.id);
  const ir::PatchValue x = patch.value(output.name + "_of_rank_4", with_leading_1(input.type));
  const ir::PatchValue y = patch.value(output.name + "_normalized", with_leading_1(output.type));
  patch.node({"Reshape",
              "",
              output.name + "_to_rank_4",
              {input.id, patch.initializer(output.name + "_rank_4", stored(wide))},
              {x},
              {}});
  ir::GraphPatch::PatchNode normalization{node.op, node.domain, node.name, {x}, {y}, node.attributes};
  for (size_t i = 1; i < node.inputs.size(); ++i) normalization.inputs.emplace_back(node.inputs[i]);
  for (ir::Attribute& attribute : normalization.attributes) {
    auto* axis = std::get_if<int64_t>(&attribute.value);
    if (attribute.name == "axis" && axis != nullptr && *axis >= 0) ++*axis;
  }
  patch.node(std::move(normalization));
  patch.node({"Reshape",
              "",
              output.name + "_to_rank_3",
              {y, patch.initializer(output.name + "_rank_3", stored(dims))},
              {output.id},
              {}});
  return patch;
}

}  // namespace

Result<Changed> normalization_at_rank_4(pass::FloatContext& context) {
  return run_rule(context, "normalization-at-rank-4", [](const ir::Graph& graph, const ir::Node& node) -> Proposal {
    return fits(graph, node) ? std::optional(at_rank_4(graph, node)) : std::nullopt;
  });
}

}  // namespace quarkq::rewrite
