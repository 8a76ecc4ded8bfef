// SPDX-License-Identifier: MIT
// Writes the plan into the graph (spec 02 A.6): pairs of activations and stored weights in marking order, then tensors
// that share a scale, then int32 biases, then second stages; then the node order of spec 02 B.1.
#include "ir/topo.h"
#include "passes/insert/qdq_writer.h"
#include "passes/passes.h"

namespace quarkq::passes {

Result<Changed> emit_qdq(PassContext& context) {
  if (context.plan.slots().empty()) return Changed::kNo;
  for (const char* domain : {kMicrosoftDomain, kQuarkDomain})
    context.model.set_opset(domain, 1);  // used or not: spec 02 B.3
  QdqWriter writer(context);
  writer.write_tensors();
  writer.write_sharing();
  writer.write_biases();
  QQ_RETURN_IF_ERROR(writer.write_extras());
  QQ_RETURN_IF_ERROR(ir::sort_topologically(context.graph()).status());
  ir::GraphEdit(context.graph()).remove_unused_initializers();
  return Changed::kYes;
}

}  // namespace quarkq::passes
