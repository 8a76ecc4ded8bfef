// SPDX-License-Identifier: MIT
#include "targets/rules.h"

#include <algorithm>

#include "targets/regions.h"

namespace quarkq::targets {

namespace {

constexpr struct {
  const char* id;
  Rule rule;
} kRules[] = {
#define TARGET_RULE(id, function, remedy, summary) {id, function},
#include "config/targets/rules.def"
#undef TARGET_RULE
};

}  // namespace

Rule find_predicate(const std::string& id) {
  for (const auto& row : kRules) {
    if (id == row.id) return row.rule;
  }
  return nullptr;
}

namespace {

constexpr size_t kMostNamed = 20;  ///< nodes that a finding names

TargetEffect effect_of(NodeVerdict verdict) {
  constexpr TargetEffect kEffects[] = {TargetEffect::kRuns, TargetEffect::kFallsBack, TargetEffect::kBlocks,
                                       TargetEffect::kUnknown};
  return kEffects[static_cast<size_t>(verdict)];
}

TargetReason make_reason(const char* rule, const config::Evidence& evidence, const std::string& remedy) {
  const config::RemedyInfo* info = config::find_remedy(remedy);
  return {rule,
          TargetEffect::kNote,
          evidence.grade,
          evidence.source,
          evidence.note,
          remedy,
          info == nullptr ? "" : info->text};
}

std::string joined(const std::vector<std::string>& parts) {
  std::vector<std::string> texts;
  std::copy_if(parts.begin(), parts.end(), std::back_inserter(texts),
               [](const std::string& part) { return !part.empty(); });
  return join(texts, "; ");
}

TargetReason rule_reason(const config::RuleRow& row, const Hit& hit) {
  TargetReason reason = make_reason(row.rule.c_str(), row.evidence, hit.remedy != nullptr ? hit.remedy : row.remedy);
  reason.effect = row.effect;
  reason.text = joined({hit.found, row.symptom, row.evidence.note});
  if (reason.text.empty()) reason.text = config::find_rule(row.rule)->summary;
  return reason;
}

/// Runs is milder than unknown, and unknown milder than falling back, which is known.
int severity(NodeVerdict verdict) {
  constexpr int kSeverities[] = {0, 2, 3, 1};  // Indexed by NodeVerdict.
  return kSeverities[static_cast<size_t>(verdict)];
}

bool applies(const config::RuleRow& row, const std::string& column) {
  return row.columns.empty() || std::find(row.columns.begin(), row.columns.end(), column) != row.columns.end();
}

class Judge {
 public:
  Judge(const QuantizedView& view, const Groups& groups, const config::Target& target)
      : view_(view), groups_(groups), target_(target) {
    result_.of.resize(view.kinds.size());
  }

  Judgements run(const config::TypeRow* type) {
    column_ = type != nullptr ? type->column : "";
    is_mixed_ = type != nullptr && type->type == "a16w8";
    look_up_operators();
    apply_type(type);
    for (const config::RuleRow& row : target_.rules) apply_rule(row);
    spread_over_groups();
    std::stable_sort(result_.findings.begin(), result_.findings.end(),
                     [](const TargetFinding& a, const TargetFinding& b) { return a.reason.effect < b.reason.effect; });
    return std::move(result_);
  }

 private:
  Judgement& at(ir::NodeId id) { return result_.of[static_cast<size_t>(id.index)]; }

  /// Columns are of operators: where only some activations have 16 bits, the others are looked up with 8.
  const std::string& column_of(ir::NodeId id) const {
    if (groups_.left_float(id) && !target_.float_column.empty()) return target_.float_column;
    const config::TypeRow* narrow = target_.find_type("a8w8");
    const bool is_narrow = is_mixed_ && narrow != nullptr && !is_wide_[static_cast<size_t>(id.index)];
    return is_narrow ? narrow->column : column_;
  }

  void look_up_operators() {
    is_wide_ = wide_operators(view_);
    for (const ir::NodeId id : view_.operators) {
      const std::string& column = column_of(id);
      const std::string op = view_.op_of(id);
      const config::OperatorRow& row = target_.find_operator(op, column);
      const bool has_row = &row != &target_.other_operators || row.verdict != config::Placement::kUnknown;
      TargetReason reason = make_reason("operator", row.evidence, row.remedy);
      reason.effect = effect_of(row.verdict);
      if (!has_row) {
        reason.source = "none";
        reason.text = cat("no source states whether ", op, " runs as ", column);
      } else if (row.verdict == config::Placement::kFallsBack && reason.text.empty()) {
        reason.text = cat("not marked for ", column, " in the operator table");
      }
      at(id) = {row.verdict, false, result_.reasons.index_of(reason)};
    }
  }

  void apply_type(const config::TypeRow* type) {
    if (type != nullptr && type->verdict == config::Placement::kRuns) return;
    TargetReason reason = type == nullptr ? make_reason("type", {'D', "none", ""}, "use-preset")
                                          : make_reason("type", type->evidence, type->remedy);
    if (type == nullptr) reason.text = "no source states whether this compiler accepts models of this type";
    const bool blocks = type != nullptr && type->verdict != config::Placement::kUnknown;
    reason.effect = blocks ? TargetEffect::kNothingPlaced : TargetEffect::kUnknown;
    result_.is_blocked |= blocks;
    result_.is_whole_unknown |= !blocks;
    result_.findings.push_back({reason, 1, {}});
    if (blocks) return;
    for (const ir::NodeId id : view_.operators) worsen(id, NodeVerdict::kUnknown, result_.reasons.index_of(reason));
  }

  void worsen(ir::NodeId id, NodeVerdict verdict, size_t reason) {
    Judgement& judgement = at(id);
    if (judgement.blocks || severity(verdict) <= severity(judgement.verdict)) return;
    judgement.verdict = verdict;
    judgement.reason = reason;
  }

  void apply_rule(const config::RuleRow& row) {
    const Rule rule = find_predicate(row.rule);
    if (!applies(row, column_) || rule == nullptr || row.rule == kRegionRule) return;
    Hits hits;
    rule({view_, groups_, row.limit}, hits);
    if (hits.empty()) return;
    TargetFinding finding{rule_reason(row, hits.front()), hits.size(), {}};
    for (const Hit& hit : hits) {
      if (hit.node.valid() && finding.nodes.size() < kMostNamed) finding.nodes.push_back(name_of(view_, hit.node));
      apply_effect(row, hit);
    }
    result_.findings.push_back(std::move(finding));
  }

  void apply_effect(const config::RuleRow& row, const Hit& hit) {
    const bool is_node = hit.node.valid();
    const size_t reason = is_node ? result_.reasons.index_of(rule_reason(row, hit)) : 0;
    switch (row.effect) {
      case config::Effect::kCrash:
      case config::Effect::kNothingPlaced:
        result_.is_blocked = true;
        if (is_node && !at(hit.node).blocks) {
          at(hit.node).blocks = true;
          at(hit.node).reason = reason;
        }
        break;
      case config::Effect::kWrongResults: result_.has_wrong_results = true; break;
      case config::Effect::kFallsBack:
        if (is_node) worsen(hit.node, NodeVerdict::kFallsBack, reason);
        break;
      case config::Effect::kUnknown:
        if (is_node) worsen(hit.node, NodeVerdict::kUnknown, reason);
        result_.is_whole_unknown |= !is_node;
        break;
      case config::Effect::kNote:
      case config::Effect::kRuns:
      case config::Effect::kBlocks: break;  // a file cannot say so of a rule
    }
  }

  /// Operators connected without Q/DQ are placed together or not at all.
  void spread_over_groups() {
    for (const std::vector<ir::NodeId>& group : groups_.members) {
      if (group.size() < 2) continue;
      const auto worst = std::max_element(group.begin(), group.end(), [&](ir::NodeId a, ir::NodeId b) {
        return severity(at(a).verdict) < severity(at(b).verdict);
      });
      const Judgement leader = at(*worst);
      for (const ir::NodeId id : group) worsen(id, leader.verdict, leader.reason);
    }
  }

  const QuantizedView& view_;
  const Groups& groups_;
  const config::Target& target_;
  std::string column_;
  bool is_mixed_ = false;      ///< Activations have 8 or 16 bits.
  std::vector<bool> is_wide_;  ///< wide_operators().
  Judgements result_;
};

}  // namespace

size_t Reasons::index_of(const TargetReason& reason) {
  const std::string key = cat(reason.rule, '\n', name(reason.effect), '\n', reason.grade, '\n', reason.source, '\n',
                              reason.text, '\n', reason.remedy);
  const auto [place, is_new] = known_.try_emplace(key, rows.size());
  if (is_new) rows.push_back(reason);
  return place->second;
}

std::vector<TargetFinding> judge_regions(const RuleInput& input, const config::Target& target,
                                         const config::TypeRow* type) {
  std::vector<TargetFinding> findings;
  for (const config::RuleRow& row : target.rules) {
    if (row.rule != kRegionRule || !applies(row, type == nullptr ? "" : type->column)) continue;
    Hits hits;
    rule_regions_above({input.view, input.groups, row.limit, input.plan}, hits);
    if (!hits.empty()) findings.push_back({rule_reason(row, hits.front()), hits.size(), {}});
  }
  return findings;
}

Judgements judge(const QuantizedView& view, const Groups& groups, const config::Target& target,
                 const config::TypeRow* type) {
  return Judge(view, groups, target).run(type);
}

}  // namespace quarkq::targets
