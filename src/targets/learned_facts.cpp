// SPDX-License-Identifier: MIT
// Rows of a target file that correct a prediction, from the placement that a compiler reported.
#include <algorithm>

#include "base/strings.h"
#include "targets/reported.h"

namespace quarkq::targets {
namespace {

/// Nodes that one row decides.
struct Tally {
  size_t on_npu = 0, on_cpu = 0;
  NodeVerdict verdict = NodeVerdict::kRuns;  ///< The prediction.
  bool is_by_type = false;                   ///< The type of the model decided it, not its operator.

  size_t all() const { return on_npu + on_cpu; }
  bool is_even() const { return on_npu == on_cpu; }
  /// Where most nodes were.
  NodeVerdict seen() const { return on_npu > on_cpu ? NodeVerdict::kRuns : NodeVerdict::kFallsBack; }
};

class Learner {
 public:
  Learner(const EpReport& report, const config::Target& target, const std::string& source)
      : report_(report), target_(target), source_(source) {
    const std::string& column = report.predicted.judged_as;
    column_ = column == "unknown" ? report.predicted.model_type : column;
    whole_ = {report.real.npu, report.real.total - report.real.npu, NodeVerdict::kUnknown, false};
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
      const TargetNode& node = predicted.nodes[i];
      const std::string& rule = predicted.reasons[node.reason].rule;
      Tally& tally = rule == "operator" || rule == "type" ? operators_[node.op] : rules_[rule];
      if (tally.all() == 0) {
        tally.verdict = node.verdict;
        tally.is_by_type = rule == "type";
      }
      ++(compared.is_real ? tally.on_npu : tally.on_cpu);
    }
  }

  config::Evidence evidence(const Tally& tally) const {
    const bool is_npu = tally.on_npu > tally.on_cpu;
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
    row.evidence = evidence(whole_);
    return {row};
  }

  std::map<std::pair<std::string, std::string>, config::OperatorRow> operator_rows() const {
    std::map<std::pair<std::string, std::string>, config::OperatorRow> rows;
    for (const auto& [op, tally] : operators_) {
      const bool is_right = tally.seen() == tally.verdict && !tally.is_by_type;
      if (!tally.is_even() && !is_right) rows[{op, column_}] = {tally.seen(), evidence(tally), ""};
    }
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
    own.evidence = evidence(tally == rules_.end() ? whole_ : tally->second);
    rows.push_back(std::move(own));
  }

  const EpReport& report_;
  const config::Target& target_;
  const std::string& source_;
  std::string column_;
  Tally whole_;  ///< All nodes of the model.
  std::map<std::string, Tally> operators_, rules_;
};

}  // namespace

config::LearnedFacts learned_facts(const EpReport& report, const config::Target& target, const std::string& source) {
  return Learner(report, target, source).facts();
}

}  // namespace quarkq::targets
