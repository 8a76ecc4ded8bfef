// SPDX-License-Identifier: MIT
// The rules of a target's file.
#include <algorithm>

#include "config/targets/row_reader.h"
#include "config/targets/target_rows.h"

namespace quarkq::config {
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
    QQ_RETURN_IF_ERROR(row.check_name("effect", effect, {kEffectNames.begin(), kEffectNames.end()}));
    const auto* const found = std::find(kEffectNames.begin(), kEffectNames.end(), effect);
    rule.effect = static_cast<Effect>(found - kEffectNames.begin());
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
