// SPDX-License-Identifier: MIT
// The tables of rules and remedies.
#include <algorithm>
#include <array>

#include "config/targets/read_rows.h"
#include "config/targets/target.h"

namespace quarkq::config {

namespace {

template <typename Row>
const Row* row_with_id(const std::vector<Row>& rows, const std::string& id) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.id == id; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

const std::vector<RemedyInfo>& target_remedies() {
  static const std::vector<RemedyInfo> rows = {
#define TARGET_REMEDY(id, kind, text) {id, kind, text},
#include "config/targets/remedies.def"
#undef TARGET_REMEDY
  };
  return rows;
}

const std::vector<RuleInfo>& target_rules() {
  static const std::vector<RuleInfo> rows = {
#define TARGET_RULE(id, function, remedy, summary) {id, remedy, summary},
#include "config/targets/rules.def"
#undef TARGET_RULE
  };
  return rows;
}

const RemedyInfo* find_remedy(const std::string& id) { return row_with_id(target_remedies(), id); }
const RuleInfo* find_rule(const std::string& id) { return row_with_id(target_rules(), id); }

const OperatorRow& Target::find_operator(const std::string& op, const std::string& column) const {
  const auto found = operators.find({op, column});
  return found == operators.end() ? other_operators : found->second;
}

const TypeRow* Target::find_type(const std::string& type) const {
  const auto found = std::find_if(types.begin(), types.end(), [&](const TypeRow& row) { return row.type == type; });
  return found == types.end() ? nullptr : &*found;
}

// The rules of a target's file.

namespace {

constexpr const char kOff[] = "off";  ///< as an effect: the rule of the extended target does not hold

Result<RuleRow> read_rule(const RowReader& row, std::string& effect) {
  QQ_RETURN_IF_ERROR(row.check_keys({"rule", "effect", "for", "limit", "symptom", "remedy"}));
  RuleRow rule;
  QQ_RETURN_IF_ERROR(row.take_text("rule", rule.rule));
  QQ_RETURN_IF_ERROR(row.take_text("effect", effect));
  if (find_rule(rule.rule) == nullptr) {
    std::vector<std::string> known;
    for (const RuleInfo& info : target_rules()) known.emplace_back(info.id);
    QQ_RETURN_IF_ERROR(row.check_name("rule", rule.rule, known));
  }
  if (effect != kOff) {
    const auto* const end = kTargetEffectNames.begin() + static_cast<size_t>(Effect::kRuns);  // of rules
    QQ_RETURN_IF_ERROR(row.check_name("effect", effect, {kTargetEffectNames.begin(), end}));
    rule.effect = static_cast<Effect>(std::find(kTargetEffectNames.begin(), end, effect) - kTargetEffectNames.begin());
  }
  QQ_RETURN_IF_ERROR(row.map().take("for", rule.columns));
  QQ_RETURN_IF_ERROR(row.map().take("limit", rule.limit));
  QQ_RETURN_IF_ERROR(row.map().take("symptom", rule.symptom));
  rule.remedy = find_rule(rule.rule)->remedy;
  QQ_RETURN_IF_ERROR(row.take_remedy(rule.remedy));
  QQ_TRY(rule.evidence, row.evidence());
  return rule;
}

}  // namespace

Status read_target_rules(const Node& node, Target& target) {
  std::vector<RuleRow> inherited = std::move(target.rules), own;
  if (!node.is_list()) return for_each_row(node, "rules", target, nullptr);
  for (const Node& item : node.items()) {
    std::string effect;
    QQ_TRY(RuleRow rule, read_rule(RowReader(item, "rules"), effect));
    std::erase_if(inherited, [&](const RuleRow& other) { return other.rule == rule.rule; });
    if (effect != kOff) own.push_back(std::move(rule));
  }
  target.rules = std::move(inherited);
  target.rules.insert(target.rules.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  return Status();
}

}  // namespace quarkq::config
