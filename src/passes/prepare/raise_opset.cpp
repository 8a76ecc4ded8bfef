// SPDX-License-Identifier: MIT
// Q/DQ nodes exist from opset 10 on, per-channel ones from 13 on. The reference writes them into older models, which
// then do not load: standard ones at once, com.microsoft ones when ONNX Runtime fuses them into operators of opset 10.
#include "ir/edit.h"
#include "onnx_io/opset_convert.h"
#include "passes/passes.h"

namespace quarkq::passes {

Result<Changed> raise_opset(PassContext& context) {
  const int64_t found = context.model.opset();
  const int64_t needed = context.settings.per_channel ? 13 : 10;
  if (found >= needed) return Changed::kNo;
  QQ_TRY(ir::Model raised,
         onnx_io::convert_opset(context.model, needed).context(cat("raising the opset from ", found)));
  raised.path = context.model.path;
  // Node ids of the copy are its own; names carry the selection over.
  std::vector<bool> excluded(raised.graph.node_count(), false), included;
  if (!context.selection.included.empty()) included.assign(raised.graph.node_count(), false);
  ir::GraphEdit edit(raised.graph);
  for (const ir::NodeId id : raised.graph.order()) {
    const ir::Node& node = raised.graph.node(id);
    edit.node(id).origins = {id};
    for (const ir::ValueId output : node.outputs) {
      if (!output.valid()) continue;
      const ir::Node* original = context.graph().producer(context.graph().find(raised.graph.value(output).name));
      if (original == nullptr) continue;
      const auto old_index = static_cast<size_t>(original->id.index), new_index = static_cast<size_t>(id.index);
      if (context.selection.excluded[old_index]) excluded[new_index] = true;
      if (!included.empty() && context.selection.included[old_index]) included[new_index] = true;
    }
  }
  context.model = std::move(raised);
  context.selection.excluded = std::move(excluded);
  context.selection.included = std::move(included);
  context.diagnostics.notice("opset-raised", "",
                             cat("opset ", found, " has no Q/DQ operators as needed, raised to ", needed));
  return Changed::kYes;
}

}  // namespace quarkq::passes
