// SPDX-License-Identifier: MIT
// The node order that marking and insertion depend on (spec 02 B.1), and fresh types for whatever the passes before
// made.
#include "ir/topo.h"
#include "onnx_io/infer.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

Result<Changed> sort_nodes(pass::FloatContext& context) {
  QQ_TRY(const bool sorted, ir::sort_topologically(context.graph()));
  if (!sorted) context.diagnostics.notice("sort-fallback", "", "nodes keep a stable order: nested graphs depend on it");
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(context.model, context.diagnostics));
  return Changed::kYes;
}

}  // namespace quarkq::rewrite
