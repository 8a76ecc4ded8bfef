// SPDX-License-Identifier: MIT
// Initializers listed among the graph's inputs leave that list (ref:rewrites#initializers): what is fed from outside
// cannot be stored.
#include "ir/edit.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

Result<Changed> remove_input_initializers(pass::FloatContext& context) {
  constexpr int64_t kFirstIrWithFreeInitializers = 4, kIrWritten = 7;
  ir::GraphEdit edit(context.graph());
  bool changed = false;
  for (const ir::ValueId input : std::vector<ir::ValueId>(context.graph().inputs())) {
    if (!context.graph().value(input).is_initializer()) continue;
    edit.remove_graph_input(input);
    changed = true;
  }
  if (changed && context.model.ir_version < kFirstIrWithFreeInitializers) {
    context.diagnostics.add(
        "ir-version", "",
        cat("IR version ", context.model.ir_version, " becomes ", kIrWritten, ": initializers are no longer inputs"));
    context.model.ir_version = kIrWritten;
  }
  return changed ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::rewrite
