// SPDX-License-Identifier: MIT
// The lowered graph takes the float graph's place (plan/lowering/lower.h).
#include "ir/qdq_nodes.h"
#include "plan/lowering/lower.h"
#include "qdq/passes.h"

namespace quarkq::qdq {

Result<Changed> write_qdq(pass::QdqContext& context) {
  if (context.plan.slots().empty()) return Changed::kNo;
  for (const char* domain : {ir::kMicrosoftDomain, ir::kQuarkDomain})
    context.model.set_opset(domain, 1);  // used or not: spec 02 B.3
  QQ_TRY(context.model.graph, plan::lower(context.graph(), context.plan, plan::QdqForm::kWritten));
  return Changed::kYes;
}

}  // namespace quarkq::qdq
