// SPDX-License-Identifier: MIT
// Rows of a target file that correct a prediction, from the placement that a compiler reported.
#include <algorithm>
#include <iterator>

#include "base/strings.h"
#include "targets/reported.h"

namespace quarkq::targets {
namespace {

/// Nodes that one row decides.
struct Tally {
  size_t on_npu = 0, on_cpu = 0;

  size_t all() const { return on_npu + on_cpu; }
  bool is_even() const { return on_npu == on_cpu; }
  /// Where most nodes were.
  NodeVerdict seen() const { return on_npu > on_cpu ? NodeVerdict::kRuns : NodeVerdict::kFallsBack; }
};

/// Chooses rows of the operator table. A row counts with everything that it moves: operators without Q/DQ between them
/// are placed together, so that one operator on the CPU takes its group along.
class OperatorRows {
 public:
  explicit OperatorRows(const EpReport& report) : report_(report) {
    const TargetReport& predicted = report.predicted;
    for (size_t i = 0; i < report.nodes.size(); ++i) {
      const TargetNode& node = predicted.nodes[i];
      const std::string& rule = predicted.reasons[node.reason].rule;
      verdicts_.push_back(node.is_placed ? NodeVerdict::kRuns : node.verdict);
      groups_[report.nodes[i].group].push_back(i);
      if (rule == "operator" || rule == "type") nodes_[node.op].push_back(i);
    }
  }

  /// Returns the operators whose rows are worth correcting, with their verdicts. Each row is chosen with the earlier
  /// ones in force, and only if more nodes become right than wrong.
  std::map<std::string, NodeVerdict> choose() {
    std::map<std::string, NodeVerdict> chosen;
    for (const auto& [op, nodes] : nodes_) {
      for (const NodeVerdict verdict : {NodeVerdict::kRuns, NodeVerdict::kFallsBack}) {
        const std::vector<size_t> moved = moved_by(nodes, verdict);
        if (gain_of(moved, verdict) <= 0) continue;
        for (const size_t node : moved) verdicts_[node] = verdict;
        chosen[op] = verdict;
        break;
      }
    }
    return chosen;
  }

  Tally tally_of(const std::string& op) const {
    Tally tally;
    for (const size_t node : nodes_.at(op)) {
      if (!is_absent(node)) ++(report_.nodes[node].is_real ? tally.on_npu : tally.on_cpu);
    }
    return tally;
  }

 private:
  bool is_absent(size_t node) const { return report_.nodes[node].outcome == PlacementOutcome::kAbsent; }

  /// Returns the nodes whose verdict changes if the operator at `nodes` gets this one.
  std::vector<size_t> moved_by(const std::vector<size_t>& nodes, NodeVerdict verdict) const {
    std::vector<size_t> moved;
    int last = -1;
    for (const size_t node : nodes) {
      const int group = report_.nodes[node].group;
      if (group == last) continue;
      last = group;
      const std::vector<size_t>& members = groups_.at(group);
      const std::string& op = report_.nodes[node].op;
      // A group runs only if each of its operators does.
      const bool can_run = std::ranges::all_of(members, [&](size_t other) {
        return report_.nodes[other].op == op || verdicts_[other] == NodeVerdict::kRuns;
      });
      if (verdict == NodeVerdict::kRuns && !can_run) continue;
      std::ranges::copy_if(members, std::back_inserter(moved),
                           [&](size_t other) { return verdicts_[other] != verdict; });
    }
    return moved;
  }

  /// Returns how many more nodes become right than wrong.
  int64_t gain_of(const std::vector<size_t>& moved, NodeVerdict verdict) const {
    int64_t gain = 0;
    for (const size_t node : moved) {
      if (is_absent(node)) continue;
      gain += report_.nodes[node].is_real == (verdict == NodeVerdict::kRuns) ? 1 : -1;
    }
    return gain;
  }

  const EpReport& report_;
  std::vector<NodeVerdict> verdicts_;  ///< Indexed by node: the prediction with the rows chosen so far.
  std::map<int, std::vector<size_t>> groups_;
  std::map<std::string, std::vector<size_t>> nodes_;  ///< Nodes that the operator table decides, by operator.
};

class Learner {
 public:
  Learner(const EpReport& report, const config::Target& target, const std::string& source)
      : report_(report), target_(target), source_(source) {
    const std::string& column = report.predicted.judged_as;
    column_ = column == "unknown" ? report.predicted.model_type : column;
    whole_ = {report.real.npu, report.real.total - report.real.npu};
  }

  config::LearnedFacts facts() {
    config::LearnedFacts facts;
    facts.target = report_.predicted.target;
    if (report_.real.npu == 0) return facts;
    count();
    facts.types = type_rows();
    facts.operators = operator_rows();
    facts.rules = rule_rows();
    return facts;
  }

 private:
  void count() {
    const TargetReport& predicted = report_.predicted;
    for (size_t i = 0; i < report_.nodes.size(); ++i) {
      const ComparedNode& compared = report_.nodes[i];
      if (compared.outcome == PlacementOutcome::kAbsent) continue;
      Tally& tally = rules_[predicted.reasons[predicted.nodes[i].reason].rule];
      ++(compared.is_real ? tally.on_npu : tally.on_cpu);
    }
  }

  config::Evidence evidence(const Tally& tally, bool is_npu) const {
    return {kSeenGrade, source_,
            cat(is_npu ? tally.on_npu : tally.on_cpu, " of ", tally.all(), " nodes on the ",
                is_npu ? report_.predicted.label : "CPU")};
  }

  /// A model ran although its type was refused or unknown.
  std::vector<config::TypeRow> type_rows() const {
    const config::TypeRow* type = target_.find_type(report_.predicted.model_type);
    if (type != nullptr && type->verdict == NodeVerdict::kRuns) return {};
    config::TypeRow row;
    row.type = report_.predicted.model_type;
    row.column = column_;
    row.as_if_quantized = type != nullptr && type->as_if_quantized;
    row.verdict = NodeVerdict::kRuns;
    row.evidence = evidence(whole_, /*is_npu=*/true);
    return {row};
  }

  std::map<std::pair<std::string, std::string>, config::OperatorRow> operator_rows() const {
    std::map<std::pair<std::string, std::string>, config::OperatorRow> rows;
    OperatorRows table(report_);
    for (const auto& [op, verdict] : table.choose())
      rows[{op, column_}] = {verdict, evidence(table.tally_of(op), verdict == NodeVerdict::kRuns), ""};
    return rows;
  }

  /// Returns the columns to which a row still applies without the column of the model.
  std::vector<std::string> other_columns(const config::RuleRow& rule) const {
    std::vector<std::string> columns = rule.columns;
    if (columns.empty()) {
      for (const config::TypeRow& type : target_.types) {
        if (std::ranges::find(columns, type.column) == columns.end()) columns.push_back(type.column);
      }
    }
    std::erase(columns, column_);
    return columns;
  }

  bool applies(const config::RuleRow& rule) const {
    return rule.columns.empty() || std::ranges::find(rule.columns, column_) != rule.columns.end();
  }

  bool was_found(const config::RuleRow& rule) const {
    return std::ranges::any_of(report_.predicted.findings, [&](const TargetFinding& finding) {
      return finding.reason.rule == rule.rule && finding.reason.effect == rule.effect;
    });
  }

  /// Returns the effect that was seen, or the row's own.
  TargetEffect seen_effect(const config::RuleRow& rule) const {
    const bool decides = rule.effect == TargetEffect::kFallsBack || rule.effect == TargetEffect::kUnknown;
    const bool blocks = rule.effect == TargetEffect::kCrash || rule.effect == TargetEffect::kNothingPlaced;
    if (!applies(rule)) return rule.effect;
    if (blocks && was_found(rule)) return TargetEffect::kNote;
    const auto tally = rules_.find(rule.rule);
    if (!decides || tally == rules_.end() || tally->second.is_even()) return rule.effect;
    return tally->second.seen() == NodeVerdict::kRuns ? TargetEffect::kNote : TargetEffect::kFallsBack;
  }

  /// Rules replace all inherited rules of their id, so that unchanged rows of the id are repeated.
  std::vector<config::RuleRow> rule_rows() const {
    std::vector<config::RuleRow> rows;
    for (const config::RuleRow& rule : target_.rules) {
      const bool is_changed = std::ranges::any_of(target_.rules, [&](const config::RuleRow& other) {
        return other.rule == rule.rule && seen_effect(other) != other.effect;
      });
      if (is_changed) add_rule(rule, rows);
    }
    return rows;
  }

  void add_rule(const config::RuleRow& rule, std::vector<config::RuleRow>& rows) const {
    const TargetEffect seen = seen_effect(rule);
    if (seen == rule.effect) {
      rows.push_back(rule);
      return;
    }
    config::RuleRow others = rule, own = rule;
    others.columns = other_columns(rule);
    if (!others.columns.empty()) rows.push_back(std::move(others));
    const auto tally = rules_.find(rule.rule);
    own.columns = {column_};
    own.effect = seen;
    own.evidence = evidence(tally == rules_.end() ? whole_ : tally->second, seen != TargetEffect::kFallsBack);
    rows.push_back(std::move(own));
  }

  const EpReport& report_;
  const config::Target& target_;
  const std::string& source_;
  std::string column_;
  Tally whole_;                         ///< All nodes of the model.
  std::map<std::string, Tally> rules_;  ///< Nodes by the rule that decided them.
};

}  // namespace

config::LearnedFacts learned_facts(const EpReport& report, const config::Target& target, const std::string& source) {
  return Learner(report, target, source).facts();
}

}  // namespace quarkq::targets
