// SPDX-License-Identifier: MIT
// ReduceMean over axes [2, 3] of an image that keeps its dims is GlobalAveragePool.
#include "ir/edit.h"
#include "passes/arguments.h"
#include "passes/passes.h"
#include "passes/tidy_up.h"

namespace quarkq::passes {
namespace {

bool is_pool(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("ReduceMean") || node.int_or("keepdims", 1) != 1) return false;
  const auto axes = integers_of(graph, node, 1, "axes");
  const ir::ValueType& type = graph.value(node.input(0)).type;
  return axes == std::vector<int64_t>{2, 3} && type.has_shape && type.dims.size() == 4;
}

}  // namespace

Result<Changed> convert_reduce_mean_to_global_avg_pool(PassContext& context) {
  ir::Graph& graph = context.graph();
  ir::GraphEdit edit(graph);
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    if (!context.selection.selects(graph.node(id)) || !is_pool(graph, graph.node(id))) continue;
    const ir::Node mean = graph.node(id);
    edit.remove_node(id);
    edit.add_node({"GlobalAveragePool", "", mean.name, {mean.input(0)}, {mean.output(0)}, {}, mean.origins});
    changed = Changed::kYes;
  }
  return tidy_up(context, changed);
}

}  // namespace quarkq::passes
