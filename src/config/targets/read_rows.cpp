// SPDX-License-Identifier: MIT
// The rows of a target's file: types, operators, options and the cutting of regions.
#include "config/targets/read_rows.h"

#include <algorithm>

#include "base/strings.h"
#include "config/convert.h"
#include "config/layers.h"

namespace quarkq::config {

Status RowReader::refusal(const std::string& text) const {
  return invalid_argument(node_.mark().prefix(), part_, ": ", text);
}

Status RowReader::check_keys(std::vector<std::string> allowed) const {
  if (!node_.is_map()) return refusal(cat("found ", describe(node_), ", allowed is a map"));
  allowed.insert(allowed.end(), {"grade", "source", "note"});
  return config::check_keys(node_, part_, allowed).context(node_.mark().prefix() + "targets");
}

Status RowReader::take_text(const char* key, std::string& member) const {
  QQ_RETURN_IF_ERROR(map_.take(key, member));
  return member.empty() ? refusal(cat(key, " is missing")) : Status();
}

Status RowReader::check_name(const char* key, const std::string& name, const std::vector<std::string>& allowed) const {
  if (std::find(allowed.begin(), allowed.end(), name) != allowed.end()) return Status();
  return refusal(cat(key, ": found ", name, ", allowed are ", join(allowed, ", "), did_you_mean(name, allowed)));
}

Status RowReader::take_remedy(std::string& member) const {
  QQ_RETURN_IF_ERROR(map_.take("remedy", member));
  if (member.empty() || find_remedy(member) != nullptr) return Status();
  std::vector<std::string> known;
  for (const RemedyInfo& row : target_remedies()) known.emplace_back(row.id);
  return check_name("remedy", member, known);
}

Result<Placement> RowReader::placement(const char* key, const std::string& name) const {
  QQ_RETURN_IF_ERROR(check_name(key, name, {kNodeVerdictNames.begin(), kNodeVerdictNames.end()}));
  const auto* const found = std::find(kNodeVerdictNames.begin(), kNodeVerdictNames.end(), name);
  return static_cast<Placement>(found - kNodeVerdictNames.begin());
}

Result<Evidence> RowReader::evidence() const {
  Evidence evidence;
  std::string grade;
  QQ_RETURN_IF_ERROR(take_text("grade", grade));
  const std::string seen = grade_name(kSeenGrade);
  QQ_RETURN_IF_ERROR(check_name("grade", grade, {"A", "B", "C", "D", seen}));
  evidence.grade = grade == seen ? kSeenGrade : grade[0];
  QQ_RETURN_IF_ERROR(take_text("source", evidence.source));
  QQ_RETURN_IF_ERROR(map_.take("note", evidence.note));
  return evidence;
}

Status for_each_row(const Node& node, const char* part, Target& target, ReadRow read) {
  if (!node.is_list()) {
    return invalid_argument(node.mark().prefix(), part, ": found ", describe(node), ", allowed is a list of maps");
  }
  for (const Node& item : node.items()) QQ_RETURN_IF_ERROR(read(RowReader(item, part), target));
  return Status();
}

namespace {

constexpr const char* kTypes[] = {"float", "xint8", "a8w8", "a16w8", "other"};

Status read_type(const RowReader& row, Target& target) {
  QQ_RETURN_IF_ERROR(row.check_keys({"type", "column", "verdict", "as_if_quantized", "remedy"}));
  TypeRow type;
  std::string verdict;
  QQ_RETURN_IF_ERROR(row.take_text("type", type.type));
  QQ_RETURN_IF_ERROR(row.take_text("column", type.column));
  QQ_RETURN_IF_ERROR(row.take_text("verdict", verdict));
  QQ_RETURN_IF_ERROR(row.map().take("as_if_quantized", type.as_if_quantized));
  QQ_RETURN_IF_ERROR(row.check_name("type", type.type, {std::begin(kTypes), std::end(kTypes)}));
  QQ_TRY(type.verdict, row.placement("verdict", verdict));
  QQ_RETURN_IF_ERROR(row.take_remedy(type.remedy));
  QQ_TRY(type.evidence, row.evidence());
  std::erase_if(target.types, [&](const TypeRow& other) { return other.type == type.type; });
  target.types.push_back(std::move(type));
  return Status();
}

Status read_operator(const RowReader& row, Target& target) {
  QQ_RETURN_IF_ERROR(row.check_keys({"op", "runs", "falls_back", "blocks", "unknown", "remedy"}));
  static constexpr const char* kVerdicts[] = {"runs", "falls_back", "blocks", "unknown"};  // in the order of Placement
  std::string op;
  OperatorRow read;
  QQ_RETURN_IF_ERROR(row.take_text("op", op));
  QQ_RETURN_IF_ERROR(row.take_remedy(read.remedy));
  QQ_TRY(read.evidence, row.evidence());
  size_t columns_read = 0;
  for (size_t verdict = 0; verdict < std::size(kVerdicts); ++verdict) {
    std::vector<std::string> columns;
    QQ_RETURN_IF_ERROR(row.map().take(kVerdicts[verdict], columns));
    read.verdict = static_cast<Placement>(verdict);
    for (const std::string& column : columns) target.operators[{op, column}] = read;
    columns_read += columns.size();
  }
  if (columns_read > 0) return Status();
  return row.refusal("names no column, allowed are runs, falls_back, blocks and unknown, each a list of columns");
}

Status read_option(const RowReader& row, Target& target) {
  QQ_RETURN_IF_ERROR(row.check_keys({"option", "value", "set"}));
  ProviderOption option;
  QQ_RETURN_IF_ERROR(row.take_text("option", option.name));
  QQ_RETURN_IF_ERROR(row.take_text("value", option.value));
  if (const Node* set = row.map().find("set")) {
    option.set_is_text = set->is_text();
    option.set = option.set_is_text ? set->as_text() : to_json(*set);
  }
  QQ_TRY(option.evidence, row.evidence());
  std::erase_if(target.options, [&](const ProviderOption& other) { return other.name == option.name; });
  target.options.push_back(std::move(option));
  return Status();
}

Status read_setting(const RowReader& row, Target& target) {
  QQ_RETURN_IF_ERROR(row.check_keys({"set", "value"}));
  TargetSetting setting;
  QQ_RETURN_IF_ERROR(row.take_text("set", setting.key));
  const Node* value = row.map().find("value");
  if (value == nullptr) return row.refusal("value is missing");
  setting.value = *value;
  QQ_TRY(setting.evidence, row.evidence());
  QQ_RETURN_IF_ERROR(parse_set(cat(setting.key, "=", to_flow(setting.value))).status());
  std::erase_if(target.settings, [&](const TargetSetting& other) { return other.key == setting.key; });
  target.settings.push_back(std::move(setting));
  return Status();
}

}  // namespace

Status read_target_types(const Node& node, Target& target) { return for_each_row(node, "types", target, read_type); }

Status read_target_operators(const Node& node, Target& target) {
  return for_each_row(node, "operators", target, read_operator);
}

Status read_target_options(const Node& node, Target& target) {
  return for_each_row(node, "options", target, read_option);
}

Status read_target_settings(const Node& node, Target& target) {
  return for_each_row(node, "settings", target, read_setting);
}

Status read_other_operators(const Node& node, Target& target) {
  const RowReader row(node, "other_operators");
  QQ_RETURN_IF_ERROR(row.check_keys({"verdict", "remedy"}));
  std::string verdict;
  QQ_RETURN_IF_ERROR(row.take_text("verdict", verdict));
  QQ_TRY(target.other_operators.verdict, row.placement("verdict", verdict));
  QQ_RETURN_IF_ERROR(row.take_remedy(target.other_operators.remedy));
  QQ_TRY(target.other_operators.evidence, row.evidence());
  return Status();
}

Status read_cutting(const Node& node, Target& target) {
  const RowReader row(node, "cutting");
  QQ_RETURN_IF_ERROR(row.check_keys({"anchors", "most_regions", "least_macs_percent"}));
  Cutting cutting;
  QQ_RETURN_IF_ERROR(row.map().take("anchors", cutting.anchors));
  QQ_RETURN_IF_ERROR(row.map().take("most_regions", cutting.most_regions));
  QQ_RETURN_IF_ERROR(row.map().take("least_macs_percent", cutting.least_macs_percent));
  QQ_TRY(cutting.evidence, row.evidence());
  if (cutting.most_regions < 0 || cutting.least_macs_percent < 0 || cutting.least_macs_percent > 100)
    return row.refusal("most_regions is below 0, or least_macs_percent outside of 0 to 100");
  target.cutting = std::move(cutting);
  return Status();
}

}  // namespace quarkq::config
