// SPDX-License-Identifier: MIT
#include "ir/edit.h"
#include "plan/lowering/lower.h"
#include "planning/passes.h"

namespace quarkq::planning {

Result<Changed> order_as_written(pass::RestructureContext& context) {
  QQ_TRY(std::vector<ir::NodeId> order, plan::written_order(context.graph(), context.plan));
  if (order == context.graph().order()) return Changed::kNo;
  ir::GraphEdit(context.graph()).set_order(std::move(order));
  return Changed::kYes;
}

}  // namespace quarkq::planning
