// SPDX-License-Identifier: MIT
#include "list_targets.h"

#include "base/strings.h"
#include "config/targets/target.h"

namespace quarkq::tool {
namespace {

using Row = config::TextRow;

Row with_evidence(Row row, const config::Evidence& evidence) {
  row.emplace_back("grade", std::string(1, evidence.grade));
  row.emplace_back("source", evidence.source);
  row.emplace_back("note", evidence.note);
  return row;
}

}  // namespace

Result<std::vector<Row>> list_targets(const std::string&) {
  std::vector<Row> rows;
  for (const std::string& name : config::target_names()) {
    QQ_TRY(const config::Target target, config::load_target(name));
    std::vector<std::string> types;
    for (const config::TypeRow& type : target.types) {
      if (type.verdict == config::Placement::kRuns) types.push_back(type.type);
    }
    rows.push_back({{"name", name},
                    {"takes", join(types, ",")},
                    {"preset", target.preset.empty() ? "-" : target.preset},
                    {"devices", target.devices},
                    {"summary", target.title}});
  }
  return rows;
}

Result<std::vector<Row>> list_target_ops(const std::string& name) {
  QQ_TRY(const config::Target target, config::load_target(name));
  std::vector<Row> rows;
  for (const auto& [key, op] : target.operators) {
    rows.push_back(with_evidence({{"name", key.first},
                                  {"type", key.second},
                                  {"verdict", config::text_of(op.verdict)},
                                  {"remedy", op.remedy.empty() ? "-" : op.remedy}},
                                 op.evidence));
  }
  if (target.other_operators.verdict != config::Placement::kUnknown) {
    const config::OperatorRow& others = target.other_operators;
    rows.push_back(with_evidence(
        {{"name", "(others)"}, {"type", "any"}, {"verdict", config::text_of(others.verdict)}, {"remedy", "-"}},
        others.evidence));
  }
  return rows;
}

Result<std::vector<Row>> list_target_rules(const std::string& name) {
  QQ_TRY(const config::Target target, config::load_target(name));
  std::vector<Row> rows;
  for (const config::RuleRow& rule : target.rules) {
    rows.push_back(with_evidence({{"name", rule.rule},
                                  {"effect", config::text_of(rule.effect)},
                                  {"types", rule.columns.empty() ? "all" : join(rule.columns, ",")},
                                  {"holds", config::find_rule(rule.rule)->summary},
                                  {"limit", rule.limit == 0 ? "-" : cat(rule.limit)},
                                  {"symptom", rule.symptom},
                                  {"remedy", rule.remedy}},
                                 rule.evidence));
  }
  return rows;
}

Result<std::vector<Row>> list_target_options(const std::string& name) {
  QQ_TRY(const config::Target target, config::load_target(name));
  std::vector<Row> rows;
  for (const config::ProviderOption& option : target.options)
    rows.push_back(with_evidence({{"name", option.name}, {"value", option.value}}, option.evidence));
  return rows;
}

Result<std::vector<Row>> list_target_settings(const std::string& name) {
  QQ_TRY(const config::Target target, config::load_target(name));
  std::vector<Row> rows;
  for (const config::TargetSetting& setting : target.settings)
    rows.push_back(with_evidence({{"name", setting.key}, {"value", config::to_flow(setting.value)}}, setting.evidence));
  return rows;
}

Result<std::vector<Row>> list_remedies(const std::string&) {
  std::vector<Row> rows;
  for (const config::RemedyInfo& remedy : config::target_remedies())
    rows.push_back({{"name", remedy.id}, {"kind", remedy.kind}, {"summary", remedy.text}});
  return rows;
}

}  // namespace quarkq::tool
