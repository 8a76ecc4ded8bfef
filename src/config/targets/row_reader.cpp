// SPDX-License-Identifier: MIT
#include "config/targets/row_reader.h"

#include <algorithm>

#include "base/suggest.h"
#include "config/targets/target_rows.h"

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
  QQ_RETURN_IF_ERROR(check_name(key, name, {kPlacementNames.begin(), kPlacementNames.end()}));
  const auto* const found = std::find(kPlacementNames.begin(), kPlacementNames.end(), name);
  return static_cast<Placement>(found - kPlacementNames.begin());
}

Result<Evidence> RowReader::evidence() const {
  Evidence evidence;
  std::string grade;
  QQ_RETURN_IF_ERROR(take_text("grade", grade));
  QQ_RETURN_IF_ERROR(check_name("grade", grade, {"A", "B", "C", "D"}));
  evidence.grade = grade[0];
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

}  // namespace quarkq::config
