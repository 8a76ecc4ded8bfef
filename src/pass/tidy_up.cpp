// SPDX-License-Identifier: MIT
#include "pass/tidy_up.h"

#include "ir/edit.h"
#include "ir/topo.h"

namespace quarkq::pass {

Result<Changed> tidy_up(ir::Graph& graph, Changed so_far) {
  const std::vector<ir::NodeId> before = graph.order();
  const size_t removed = ir::GraphEdit(graph).remove_unused_initializers();
  QQ_RETURN_IF_ERROR(ir::sort_topologically(graph).status());
  return removed > 0 || before != graph.order() ? Changed::kYes : so_far;
}

}  // namespace quarkq::pass
