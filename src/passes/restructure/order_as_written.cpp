// SPDX-License-Identifier: MIT
#include "ir/edit.h"
#include "passes/passes.h"
#include "passes/restructure/written_order.h"

namespace quarkq::passes {

Result<Changed> order_as_written(PassContext& context) {
  QQ_TRY(std::vector<ir::NodeId> order, written_order(context.graph(), context.plan));
  if (order == context.graph().order()) return Changed::kNo;
  ir::GraphEdit(context.graph()).set_order(std::move(order));
  return Changed::kYes;
}

}  // namespace quarkq::passes
