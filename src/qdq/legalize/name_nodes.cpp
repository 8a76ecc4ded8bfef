// SPDX-License-Identifier: MIT
// Reports of compilers and their partition files go by the names of nodes.
#include "ir/edit.h"
#include "ir/unique_names.h"
#include "qdq/passes.h"

namespace quarkq::qdq {

Result<Changed> name_nodes(pass::QdqContext& context) {
  ir::Graph& graph = context.model.graph;
  ir::UniqueNames names;
  for (const ir::NodeId id : graph.order()) names.add(graph.node(id).name);
  ir::GraphEdit edit(graph);
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!node.name.empty()) continue;
    const bool has_output = !node.outputs.empty() && node.output(0).valid();
    edit.node(id).name = names.take(has_output ? cat(graph.value(node.output(0)).name, "_", node.op) : node.op);
    changed = Changed::kYes;
  }
  return changed;
}

}  // namespace quarkq::qdq
