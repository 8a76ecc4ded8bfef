// SPDX-License-Identifier: MIT
#include "rewrite/driver.h"

namespace quarkq::rewrite {
namespace {

/// Number of patches applied at one node.
Result<size_t> visit_node(ir::Graph& graph, ir::NodeId id, std::span<const Rule> rules, const Policy& policy) {
  size_t applied = 0;
  for (const Rule& rule : rules) {
    if (!graph.is_alive(id)) break;
    QQ_TRY(const std::optional<ir::GraphPatch> patch, rule(graph, graph.node(id)));
    if (!patch || patch->empty()) continue;
    const size_t first_made = graph.node_count();
    patch->apply(graph);
    ++applied;
    if (policy.applied) policy.applied(first_made);
    if (!policy.every_rule) break;
  }
  return applied;
}

Result<size_t> sweep_nodes(ir::Graph& graph, std::span<const Rule> rules, const Policy& policy) {
  size_t applied = 0;
  const std::vector<ir::NodeId> order = policy.order ? policy.order(graph) : graph.order();
  for (const ir::NodeId id : order) {
    if (!graph.is_alive(id) || (policy.skips && policy.skips(graph.node(id)))) continue;
    QQ_TRY(const size_t here, visit_node(graph, id, rules, policy));
    applied += here;
  }
  return applied;
}

}  // namespace

Result<Outcome> apply_rules(ir::Graph& graph, std::span<const Rule> rules, const Policy& policy) {
  Outcome outcome;
  for (int sweep = 0; sweep < policy.max_sweeps && !outcome.settled; ++sweep) {
    QQ_TRY(const size_t applied, sweep_nodes(graph, rules, policy));
    outcome.settled = applied == 0;
    if (outcome.settled) break;
    outcome.changed = true;
    if (policy.end_sweep) policy.end_sweep(graph);
  }
  return outcome;
}

Result<Changed> run_rule(pass::FloatContext& context, const char* pass, const Rule& rule) {
  constexpr int kMaxSweeps = 10;
  Policy policy;
  policy.max_sweeps = kMaxSweeps;
  policy.end_sweep = [](ir::Graph& graph) { ir::GraphEdit(graph).remove_dead(); };
  QQ_TRY(const Outcome outcome, apply_rules(context.graph(), {&rule, 1}, policy).context(cat("pass ", pass)));
  if (!outcome.settled) {
    context.diagnostics.add("pass-not-settled", pass, cat("did not converge after ", kMaxSweeps, " iterations"));
  }
  return outcome.changed ? Changed::kYes : Changed::kNo;
}

Result<Changed> run_once(ir::Graph& graph, const Rule& rule) {
  QQ_TRY(const Outcome outcome, apply_rules(graph, {&rule, 1}, {}));
  return outcome.changed ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::rewrite
