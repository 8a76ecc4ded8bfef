// SPDX-License-Identifier: MIT
#include "rewrite/driver.h"

namespace quarkq::rewrite {

Result<Changed> run_rule(pass::FloatContext& context, const char* pass, const Rule& rule) {
  constexpr int kMaxSweeps = 10;
  ir::Graph& graph = context.graph();
  bool changed = false;
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    size_t applied = 0;
    const std::vector<ir::NodeId> order = graph.order();  // patches change the list; new nodes wait for the next sweep
    for (const ir::NodeId id : order) {
      if (!graph.is_alive(id)) continue;
      QQ_TRY(const std::optional<ir::GraphPatch> patch, rule(graph, graph.node(id)).context(cat("pass ", pass)));
      if (!patch || patch->empty()) continue;
      patch->apply(graph);
      ++applied;
    }
    if (applied == 0) return changed ? Changed::kYes : Changed::kNo;
    changed = true;
    ir::GraphEdit(graph).remove_dead();
  }
  context.diagnostics.notice("pass-not-settled", pass, cat("still found something after ", kMaxSweeps, " sweeps"));
  return Changed::kYes;
}

}  // namespace quarkq::rewrite
