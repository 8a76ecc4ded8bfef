// SPDX-License-Identifier: MIT
// beta of Gemm goes into its constant bias, so that the scale of an int32 bias is the plain product (spec 02 A.4,
// QUIRK).
#include "ir/edit.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

Result<Changed> fold_gemm_beta(pass::FloatContext& context) {
  ir::GraphEdit edit(context.graph());
  bool changed = false;
  for (const ir::NodeId id : context.graph().order()) {
    const ir::Node& node = context.graph().node(id);
    const float beta = node.float_or("beta", 1.0f);
    if (!node.is("Gemm") || beta == 1.0f) continue;
    const ir::Tensor* bias = context.graph().constant(node.input(2));
    if (bias == nullptr || bias->type() != ElementType::kFloat) continue;
    ir::Tensor scaled = *bias;
    for (float& value : scaled.mutable_data<float>()) value *= beta;
    const std::string name = context.graph().value(node.input(2)).name;
    edit.set_input(id, 2, edit.add_initializer(name, std::move(scaled)));
    edit.node(id).set("beta", 1.0f);
    changed = true;
  }
  if (changed) edit.remove_unused_initializers();
  return changed ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::rewrite
