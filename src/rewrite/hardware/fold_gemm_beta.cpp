// SPDX-License-Identifier: MIT
// Folds beta of Gemm into its constant bias, so that the scale of an int32 bias is the plain product
// (ref:marking#biases, QUIRK).
#include "rewrite/driver.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

Result<Changed> fold_gemm_beta(pass::FloatContext& context) {
  const auto rule = [](const ir::Graph& graph, const ir::Node& node) -> Proposal {
    const float beta = node.float_or("beta", 1.0f);
    const ir::Tensor* bias = node.is("Gemm") && beta != 1.0f ? graph.constant(node.input(2)) : nullptr;
    if (bias == nullptr || bias->type() != ElementType::kFloat) return std::optional<ir::GraphPatch>();
    ir::Tensor scaled = *bias;
    for (float& value : scaled.mutable_data<float>()) value *= beta;
    ir::GraphPatch patch;
    patch.set_input(node.id, 2, patch.initializer(graph.value(node.input(2)).name, std::move(scaled)));
    patch.set_attribute(node.id, "beta", 1.0f);
    return std::optional(std::move(patch));
  };
  QQ_TRY(const Changed changed, run_once(context.graph(), rule));
  if (changed == Changed::kYes) ir::GraphEdit(context.graph()).remove_unused_initializers();
  return changed;
}

}  // namespace quarkq::rewrite
