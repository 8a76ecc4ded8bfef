// SPDX-License-Identifier: MIT
#include "rewrite/convert/idle_casts.h"

#include "ir/edit.h"

namespace quarkq::rewrite {
namespace {

bool is_idle_cast(const ir::Graph& graph, const ir::Node& node) {
  return node.is("Cast") && node.input(0).valid() &&
         node.int_or("to", 0) == static_cast<int64_t>(graph.value(node.input(0)).type.element);
}

}  // namespace

void remove_idle_casts(ir::Graph& graph) {
  ir::GraphEdit edit(graph);
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node& node = graph.node(id);
    if (!is_idle_cast(graph, node)) continue;
    const ir::ValueId from = node.input(0), to = node.output(0);
    const bool is_made_inside = graph.value(from).producer.valid() && !graph.value(from).is_output;
    if (graph.value(to).is_output && !is_made_inside) continue;
    edit.remove_node(id);
    edit.replace_value(to, from);
    edit.remove_value(to);
  }
}

}  // namespace quarkq::rewrite
