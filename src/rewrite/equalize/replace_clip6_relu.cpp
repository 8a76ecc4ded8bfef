// SPDX-License-Identifier: MIT
// Clip(0, 6) becomes Relu of the same name, input and output (spec 04 B.9): equalization steps through Relu only, and
// the range of the scaled values makes the limit 6 meaningless.
#include <cmath>

#include "ir/arguments.h"
#include "ir/edit.h"
#include "ir/topo.h"
#include "pass/gate_clip.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

bool is_near(std::optional<double> value, double wanted) {
  return value && std::abs(*value - wanted) <= 1e-8 + 1e-5 * std::abs(wanted);
}

bool is_clip6(const ir::Graph& graph, const ir::Node& node) {
  return node.is("Clip") && is_near(ir::number_of(graph, node, 1, "min", NAN), 0) &&
         is_near(ir::number_of(graph, node, 2, "max", NAN), 6);
}

}  // namespace

Result<Changed> replace_clip6_relu(pass::FloatContext& context) {
  ir::Graph& graph = context.graph();
  ir::GraphEdit edit(graph);
  bool changed = false;
  size_t kept = 0;
  std::string first_kept;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    if (!is_clip6(graph, graph.node(id))) continue;
    if (context.settings.guards() && pass::is_gate(graph, graph.node(id))) {
      if (kept++ == 0) first_kept = graph.label(id);
      continue;
    }
    const ir::Node clip = graph.node(id);
    edit.remove_node(id);
    edit.add_node({"Relu", "", clip.name, {clip.input(0)}, {clip.output(0)}, {}, clip.origins});
    changed = true;
  }
  if (kept > 0) {
    context.diagnostics.notice("guard-hard-swish", first_kept,
                               cat("and ", kept - 1, " others end a hard-swish or hard-sigmoid; they stay Clips"));
  }
  if (!changed) return Changed::kNo;
  edit.remove_dead();  // the limits, where nobody else reads them
  QQ_RETURN_IF_ERROR(ir::sort_topologically(graph).status());
  return Changed::kYes;
}

}  // namespace quarkq::rewrite
