// SPDX-License-Identifier: MIT
// Compat mode only: the reference takes beta into the scale of a Gemm's bias and then forgets it (ref:marking#biases,
// quirk FoldGemmBeta).
#include "ir/edit.h"
#include "planning/passes.h"

namespace quarkq::planning {

Result<Changed> reset_gemm_beta(pass::RestructureContext& context) {
  ir::GraphEdit edit(context.graph());
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : context.graph().order()) {
    const ir::Node& node = context.graph().node(id);
    if (!node.is("Gemm") || !context.selection.selects(node) || node.float_or("beta", 1.0f) == 1.0f) continue;
    if (!node.input(2).valid() || !context.graph().value(node.input(2)).is_initializer()) continue;
    edit.node(id).set("beta", 1.0f);
    changed = Changed::kYes;
  }
  return changed;
}

}  // namespace quarkq::planning
