// SPDX-License-Identifier: MIT
// ReduceMean over axes [2, 3] of an image that keeps its dims is GlobalAveragePool.
#include "ir/arguments.h"
#include "ir/edit.h"
#include "pass/tidy_up.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

bool is_pool(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("ReduceMean") || node.int_or("keepdims", 1) != 1) return false;
  const auto axes = ir::integers_of(graph, node, 1, "axes");
  const ir::ValueType& type = graph.value(node.input(0)).type;
  return axes == std::vector<int64_t>{2, 3} && type.has_shape && type.dims.size() == 4;
}

}  // namespace

Result<Changed> convert_reduce_mean_to_global_avg_pool(pass::FloatContext& context) {
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
  return pass::tidy_up(context.graph(), changed);
}

}  // namespace quarkq::rewrite
