// SPDX-License-Identifier: MIT
#include "targets/assess.h"

#include <algorithm>

#include "targets/regions.h"
#include "targets/rules.h"

namespace quarkq::targets {
namespace {

/// Everything on the CPU.
TargetCounts counts_when_blocked(const TargetCounts& counts, size_t operators) {
  TargetCounts blocked;
  blocked.total = counts.total;
  blocked.at_edges = counts.at_edges;
  blocked.cpu = operators;
  blocked.qdq_cpu = counts.total - operators;
  return blocked;
}

TargetReason no_anchor(const config::Target& target) {
  const config::Evidence& evidence = target.cutting.evidence;
  return {"no-anchor", TargetEffect::kFallsBack, evidence.grade, evidence.source, evidence.note, "", ""};
}

/// How the model is placed, and what one node costs.
struct Placement {
  NodeCosts costs;
  RegionPlan plan;
};

void list_nodes(const QuantizedView& view, Judgements& judged, const Placement& placement, const config::Target& target,
                TargetReport& report) {
  const RegionPlan& plan = placement.plan;
  for (const ir::NodeId id : view.operators) {
    const auto index = static_cast<size_t>(id.index);
    const Judgement& one = judged.of[index];
    TargetNode node{name_of(view, id),
                    view.op_of(id),
                    one.blocks ? NodeVerdict::kBlocks : one.verdict,
                    plan.placed.runs[index],
                    plan.placed.region[index],
                    one.reason,
                    placement.costs.macs[index]};
    if (plan.placed.lacks_anchor[index] && !one.blocks) {
      node.verdict = NodeVerdict::kFallsBack;
      node.reason = judged.reasons.index_of(no_anchor(target));
    }
    ++report.verdicts[static_cast<size_t>(node.verdict)];
    report.macs += node.macs;
    report.nodes.push_back(std::move(node));
  }
}

void fold_fallbacks(TargetReport& report) {
  for (const TargetNode& node : report.nodes) {
    if (node.verdict == NodeVerdict::kRuns) continue;
    const TargetReason& reason = report.reasons[node.reason];
    const auto known = std::find_if(report.fallbacks.begin(), report.fallbacks.end(), [&](const TargetFallback& one) {
      const TargetReason& other = report.reasons[one.reason];
      return one.op == node.op && one.verdict == node.verdict && other.rule == reason.rule &&
             other.effect == reason.effect;
    });
    if (known != report.fallbacks.end()) {
      ++known->count;
    } else {
      report.fallbacks.push_back({node.op, node.verdict, 1, node.name, node.reason});
    }
  }
  std::stable_sort(report.fallbacks.begin(), report.fallbacks.end(),
                   [](const TargetFallback& a, const TargetFallback& b) { return a.count > b.count; });
}

std::string overall(const TargetReport& report, const Judgements& judged) {
  if (judged.is_blocked) return "blocked";
  if (judged.has_wrong_results) return "runs-wrong";
  if (judged.is_whole_unknown || report.verdicts[static_cast<size_t>(NodeVerdict::kUnknown)] > 0) return "unknown";
  return report.counts.cpu == 0 ? "runs" : "runs-partly";
}

}  // namespace

Result<TargetReport> assess(const ir::Model& model, const config::Target& target) {
  QQ_TRY(const QuantizedView view, view_of(model));
  TargetReport report;
  report.target = target.name;
  report.title = target.title;
  report.label = target.label;
  report.model_type = type_of_model(view);
  const config::TypeRow* type = target.find_type(report.model_type);
  const Groups groups = group_operators(view, type != nullptr && type->as_if_quantized);
  report.judged_as = type == nullptr ? "unknown" : type->column;
  Judgements judged = judge(view, groups, target, type);
  report.findings = std::move(judged.findings);
  std::vector<bool> runs(view.kinds.size(), false), may_run(view.kinds.size(), false);
  for (const ir::NodeId id : view.operators) {
    const auto index = static_cast<size_t>(id.index);
    runs[index] = judged.of[index].verdict == NodeVerdict::kRuns;
    may_run[index] = runs[index] || judged.of[index].verdict == NodeVerdict::kUnknown;
  }
  const bool has_unknown = runs != may_run;
  Placement placement{node_costs(view), {}};
  RegionPlan& plan = placement.plan;
  plan = plan_regions(view, groups, placement.costs, std::move(runs), target);
  report.unblocked = plan.counts;
  std::ranges::move(judge_regions({view, groups, 0, &plan}, target, type), std::back_inserter(report.findings));
  std::ranges::stable_sort(report.findings, {}, [](const TargetFinding& one) { return one.reason.effect; });
  report.unknown_runs =
      has_unknown ? plan_regions(view, groups, placement.costs, std::move(may_run), target).counts : plan.counts;
  report.is_blocked = judged.is_blocked;
  report.counts = judged.is_blocked ? counts_when_blocked(plan.counts, view.operators.size()) : plan.counts;
  list_nodes(view, judged, placement, target, report);
  report.reasons = std::move(judged.reasons.rows);
  report.regions = std::move(plan.regions);
  fold_fallbacks(report);
  report.verdict = overall(report, judged);
  return report;
}

}  // namespace quarkq::targets
