// SPDX-License-Identifier: MIT
// Nodes on which ONNX Runtime fails between Q and DQ (ref:writing#runtime-kernels) stay float and read float values:
// a pair of the nodes around them would be enough for ONNX Runtime to move them onto integers.
#include "plan/runtime_kernels.h"
#include "planning/passes.h"

namespace quarkq::planning {

Result<Changed> leave_without_kernel(pass::PlanContext& context) {
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : context.graph().order()) {
    const plan::KernelLimit* limit = plan::missing_kernel(context.graph().node(id));
    if (limit == nullptr || !context.selection.reads_float.insert(id).second) continue;
    context.selection.left_float.insert(id);
    context.diagnostics.add("kernel-missing", context.graph().label(id),
                            cat("stays float: ONNX Runtime cannot run ", limit->reason, " on integers"));
    changed = Changed::kYes;
  }
  return changed;
}

}  // namespace quarkq::planning
