// SPDX-License-Identifier: MIT
// The node order that marking and insertion depend on (ref:writing#node-order), and fresh types for whatever the passes
// before made.
#include "ir/topo.h"
#include "pass/tidy_up.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

Result<Changed> sort_nodes(pass::FloatContext& context) {
  const std::vector<ir::NodeId> before = context.graph().order();
  QQ_TRY(const bool sorted, ir::sort_topologically(context.graph()));
  if (!sorted) context.diagnostics.add("sort-fallback", "", "nodes keep a stable order: nested graphs depend on it");
  QQ_TRY(const Changed retyped, pass::infer_types_again(context.model, context.diagnostics));
  return context.graph().order() == before ? retyped : Changed::kYes;
}

}  // namespace quarkq::rewrite
