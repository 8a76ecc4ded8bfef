// SPDX-License-Identifier: MIT
// Compares the placement that a compiler reported with the prediction, node by node. Each difference names the row of
// the target that decided the prediction.
#include <algorithm>
#include <cstdio>

#include "base/strings.h"
#include "targets/regions.h"
#include "targets/reported.h"

namespace quarkq::targets {
namespace {

/// A report with a smaller share of known nodes is about another model. Reports of the right model reach it with a wide
/// margin: ONNX Runtime folds and fuses a few nodes, and other models share only common names.
constexpr double kLeastKnown = 0.5;

size_t node_index(ir::NodeId id) { return static_cast<size_t>(id.index); }

/// The reported placement of each operator.
struct RealPlacement {
  std::vector<std::string> device;  ///< Indexed by node id; empty: not in the report.
  std::vector<bool> runs;           ///< Indexed by node id.
  size_t entries = 0, unmatched = 0;
};

RealPlacement from_entries(const QuantizedView& view, const Reported& reported) {
  const NodeMatch match = match_nodes(view, reported.nodes);
  RealPlacement real{std::vector<std::string>(view.kinds.size()), {}, reported.nodes.size(), 0};
  for (const ir::NodeId node : match.node_of) real.unmatched += node.valid() ? 0 : 1;
  for (const ir::NodeId id : view.operators) {
    const size_t entry = match.entry_of[node_index(id)];
    if (entry != NodeMatch::kNone) real.device[node_index(id)] = reported.nodes[entry].device;
  }
  return real;
}

/// Files of partitions list nodes by name or first output, without their inputs.
RealPlacement from_names(const QuantizedView& view, const Reported& reported) {
  RealPlacement real{std::vector<std::string>(view.kinds.size()), {}, reported.placed_on.size(), 0};
  size_t found = 0;
  for (const ir::NodeId id : view.order) {
    const ir::Node& node = view.node(id);
    auto row = node.output(0).valid() ? reported.placed_on.find(view.graph().value(node.output(0)).name)
                                      : reported.placed_on.end();
    if (row == reported.placed_on.end() && !node.name.empty()) row = reported.placed_on.find(node.name);
    if (row != reported.placed_on.end()) {
      real.device[node_index(id)] = row->second;
      ++found;
    } else if (reported.lists_npu_only) {
      real.device[node_index(id)] = "CPU";
    }
  }
  real.unmatched = real.entries - std::min(found, real.entries);
  return real;
}

/// Operators that the report does not list go with the operators whose results they read.
void set_runs(const QuantizedView& view, RealPlacement& real) {
  real.runs.assign(view.kinds.size(), false);
  for (const ir::NodeId id : view.operators) {
    const std::string& device = real.device[node_index(id)];
    const std::vector<ir::NodeId>& sources = view.sources_of(id);
    real.runs[node_index(id)] =
        device.empty() ? !sources.empty() && real.runs[node_index(sources.front())] : is_npu(device);
  }
}

bool is_predicted(const TargetReport& predicted, const TargetNode& node) {
  return !predicted.is_blocked && node.is_placed && node.region >= 0 &&
         predicted.regions[static_cast<size_t>(node.region)].is_running;
}

/// The finding that blocks the whole model, or null.
const TargetReason* blocking_reason(const TargetReport& predicted) {
  if (!predicted.is_blocked) return nullptr;
  const auto found = std::ranges::find_if(predicted.findings, [](const TargetFinding& finding) {
    return finding.reason.effect == TargetEffect::kCrash || finding.reason.effect == TargetEffect::kNothingPlaced;
  });
  return found == predicted.findings.end() ? nullptr : &found->reason;
}

PlacementOutcome outcome_of(const TargetReport& predicted, const TargetNode& node, const ComparedNode& compared) {
  if (compared.device.empty()) return PlacementOutcome::kAbsent;
  if (!predicted.is_blocked && node.verdict == NodeVerdict::kUnknown) return PlacementOutcome::kNowKnown;
  if (compared.is_predicted == compared.is_real) return PlacementOutcome::kAgrees;
  return compared.is_real ? PlacementOutcome::kRan : PlacementOutcome::kFellBack;
}

std::string evidence_of(const TargetReason& reason) {
  const std::string row = reason.rule == "operator" ? "the operator table"
                          : reason.rule == "type"   ? "the type of the model"
                                                    : reason.rule;
  return cat(row, reason.text.empty() ? "" : ": " + reason.text, " [", grade_name(reason.grade), ", ", reason.source,
             "]");
}

std::string explain(const PlacementDifference& difference, const std::string& label) {
  const std::string place = difference.is_real ? "the " + label : "the CPU";
  const std::string decided = evidence_of(difference.reason);
  if (difference.outcome == PlacementOutcome::kNowKnown)
    return cat("is on ", place, "; the prediction was unknown: ", decided);
  return cat("is on ", place, "; the prediction followed ", decided);
}

class Comparison {
 public:
  Comparison(const QuantizedView& view, const Reported& reported, EpReport& report)
      : view_(view), reported_(reported), report_(report) {}

  void add(const RealPlacement& real, const RegionPlan& plan, const Groups& groups) {
    const TargetReport& predicted = report_.predicted;
    const TargetReason* blocking = blocking_reason(predicted);
    for (size_t i = 0; i < view_.operators.size(); ++i) {
      const ir::NodeId id = view_.operators[i];
      const TargetNode& node = predicted.nodes[i];
      ComparedNode compared;
      compared.name = node.name;
      compared.op = node.op;
      compared.device = real.device[node_index(id)];
      compared.is_predicted = is_predicted(predicted, node);
      compared.is_real = !compared.device.empty() && is_npu(compared.device);
      compared.region = plan.placed.region[node_index(id)];
      compared.group = groups.of[node_index(id)];
      compared.outcome = outcome_of(predicted, node, compared);
      count(compared);
      if (compared.outcome != PlacementOutcome::kAgrees && compared.outcome != PlacementOutcome::kAbsent)
        compared.difference = index_of(compared, id, blocking == nullptr ? predicted.reasons[node.reason] : *blocking);
      report_.nodes.push_back(std::move(compared));
    }
    for (PlacementDifference& one : report_.differences) one.text = explain(one, predicted.label);
  }

 private:
  void count(const ComparedNode& compared) {
    if (compared.outcome == PlacementOutcome::kAbsent) {
      ++report_.absent;
    } else if (compared.outcome == PlacementOutcome::kNowKnown) {
      ++report_.now_known;
    } else {
      ++report_.compared;
      report_.agreeing += compared.outcome == PlacementOutcome::kAgrees ? 1 : 0;
    }
  }

  size_t index_of(const ComparedNode& node, ir::NodeId id, const TargetReason& reason) {
    const std::string key =
        cat(node.op, '\n', name(node.outcome), '\n', node.is_real ? 1 : 0, '\n', reason.rule, '\n', reason.source);
    const auto [place, is_new] = known_.try_emplace(key, report_.differences.size());
    if (is_new) {
      PlacementDifference& added = report_.differences.emplace_back();
      added.op = node.op;
      added.outcome = node.outcome;
      added.is_real = node.is_real;
      added.first = node.name;
      added.reason = reason;
    }
    PlacementDifference& difference = report_.differences[place->second];
    ++difference.count;
    if (difference.compiler_text.empty() && !node.is_real) difference.compiler_text = compiler_text(id);
    return place->second;
  }

  std::string compiler_text(ir::NodeId id) const {
    const ir::Node& node = view_.node(id);
    auto found = reported_.reasons.find(node.name);
    if (found == reported_.reasons.end() && node.output(0).valid())
      found = reported_.reasons.find(view_.graph().value(node.output(0)).name);
    return found == reported_.reasons.end() ? "" : found->second;
  }

  const QuantizedView& view_;
  const Reported& reported_;
  EpReport& report_;
  std::map<std::string, size_t> known_;
};

size_t sum_of(const std::map<std::string, size_t>& counts, bool (*is_counted)(const std::string&)) {
  size_t sum = 0;
  for (const auto& [device, count] : counts) sum += is_counted(device) ? count : 0;
  return sum;
}

/// The compiler's own counts.
TargetCounts counts_of(const Reported& reported, const TargetReport& predicted) {
  TargetCounts counts;
  counts.npu = sum_of(reported.operators, is_npu);
  counts.total = sum_of(reported.operators, [](const std::string&) { return true; });
  const auto qdq = reported.operators.find("VITIS_EP_CPU");
  counts.qdq_cpu = qdq == reported.operators.end() ? 0 : qdq->second;
  counts.cpu = counts.total - counts.npu - counts.qdq_cpu;
  counts.regions = sum_of(reported.subgraphs, is_npu);
  counts.regions_running = reported.running > 0 ? reported.running : counts.regions;
  // Q/DQ at the edges never count as places on the NPU, so that a share of 1 can be reached.
  counts.at_edges = std::min(predicted.counts.at_edges, counts.total - counts.npu);
  return counts;
}

/// Counts nodes by device if the files contain no counts.
void count_devices(const QuantizedView& view, const RealPlacement& real, Reported& reported) {
  if (!reported.operators.empty()) return;
  for (const ir::NodeId id : view.order) {
    if (view.kind(id) == NodeKind::kConstant) continue;
    if (!real.device[node_index(id)].empty()) ++reported.operators[real.device[node_index(id)]];
  }
}

Status check_is_same_model(const RealPlacement& real, const ir::Model& model, const Reported& reported) {
  const size_t known = real.entries - real.unmatched;
  if (static_cast<double>(known) >= kLeastKnown * static_cast<double>(real.entries)) return Status();
  const std::string compiled = reported.compiled_model.empty() ? "" : cat(" (compiled: ", reported.compiled_model, ")");
  return bad_data(join(reported.files, ", "), ": is about another model", compiled, ": found ", known, " of its ",
                  real.entries, " nodes in ", model.path.empty() ? "the model" : model.path,
                  ", allowed is at least half; pass the model file that was compiled");
}

void add_notes(const Reported& reported, EpReport& report) {
  const size_t expected = report.predicted.counts.npu;
  if (report.real.npu == 0 && expected > 0) {
    report.notes.push_back(cat("the compiler placed no node, and ", expected, " of ", report.predicted.counts.total,
                               " were predicted: a cause may be outside the model (quarkq list target-options ",
                               report.predicted.target, ")"));
  }
  if (!report.has_nodes)
    report.notes.emplace_back("the files contain counts but no nodes: pass vitisai_ep_report.json");
  if (report.unmatched > 0) {
    report.notes.push_back(
        cat(report.unmatched, " nodes of the report match no node of the model: the compiler added or renamed them"));
  }
  if (report.absent > 0)
    report.notes.push_back(cat(report.absent, " operators are not in the report: they were fused, folded or removed"));
  if (!reported.compiled_model.empty()) report.notes.push_back("compiled model: " + reported.compiled_model);
}

}  // namespace

Result<EpReport> compare_placement(const ir::Model& model, TargetReport predicted, const Reported& given) {
  QQ_TRY(const QuantizedView view, view_of(model));
  Reported reported = given;
  EpReport report;
  report.files = reported.files;
  report.compiled_model = reported.compiled_model;
  report.compiler = reported.compiler;
  report.has_nodes = reported.has_nodes();
  report.predicted = std::move(predicted);
  if (report.has_nodes) {
    RealPlacement real = reported.nodes.empty() ? from_names(view, reported) : from_entries(view, reported);
    QQ_RETURN_IF_ERROR(check_is_same_model(real, model, reported));
    set_runs(view, real);
    count_devices(view, real, reported);
    report.unmatched = real.unmatched;
    const Groups groups = group_operators(view, /*as_if_quantized=*/false);
    const RegionPlan plan = plan_regions(view, groups, node_costs(view), real.runs, {});
    Comparison(view, reported, report).add(real, plan, groups);
    report.real = counts_of(reported, report.predicted);
    report.real.mac_share = plan.counts.mac_share;
    if (reported.subgraphs.empty()) {
      report.real.regions = plan.counts.regions;
      report.real.regions_running = plan.counts.regions;
    }
    report.regions = plan.regions;
  } else {
    report.real = counts_of(reported, report.predicted);
  }
  add_notes(reported, report);
  return report;
}

}  // namespace quarkq::targets
