// SPDX-License-Identifier: MIT
// The table of sources, and which of them the rows of a target name.
#include <algorithm>
#include <map>
#include <string_view>

#include "config/targets/target.h"

namespace quarkq::config {

namespace {

const SourceInfo* longest_tag(std::string_view text) {
  const SourceInfo* found = nullptr;
  for (const SourceInfo& row : target_sources()) {
    const bool fits = text.starts_with(row.tag);
    if (fits && (found == nullptr || std::string_view(row.tag).size() > std::string_view(found->tag).size()))
      found = &row;
  }
  return found;
}

/// Calls visit(evidence) for each row of the target.
template <typename Visit>
void for_evidence(const Target& target, const Visit& visit) {
  for (const TypeRow& row : target.types) visit(row.evidence);
  for (const auto& [key, row] : target.operators) visit(row.evidence);
  for (const RuleRow& row : target.rules) visit(row.evidence);
  for (const ProviderOption& row : target.options) visit(row.evidence);
  for (const TargetSetting& row : target.settings) visit(row.evidence);
  visit(target.other_operators.evidence);
  visit(target.cutting.evidence);
}

}  // namespace

const std::vector<SourceInfo>& target_sources() {
  static const std::vector<SourceInfo> rows = {
#define TARGET_SOURCE(tag, date, basis, title) {tag, date, basis, title},
#include "config/targets/sources.def"
#undef TARGET_SOURCE
  };
  return rows;
}

std::vector<const SourceInfo*> find_sources(const std::string& source) {
  std::vector<const SourceInfo*> found;
  for (std::string_view rest = source; !rest.empty();) {
    const size_t end = std::min(rest.find_first_of(",;"), rest.size());
    std::string_view part = rest.substr(0, end);
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    const SourceInfo* row = longest_tag(part);
    if (row != nullptr && std::ranges::find(found, row) == found.end()) found.push_back(row);
    rest = end < rest.size() ? rest.substr(end + 1) : std::string_view();
  }
  return found;
}

std::vector<SourceUse> sources_of(const Target& target) {
  std::map<const SourceInfo*, size_t> rows;
  for_evidence(target, [&](const Evidence& evidence) {
    for (const SourceInfo* source : find_sources(evidence.source)) ++rows[source];
  });
  std::vector<SourceUse> uses;
  for (const SourceInfo& source : target_sources()) {
    if (const auto found = rows.find(&source); found != rows.end()) uses.push_back({&source, found->second});
  }
  std::ranges::stable_sort(uses, [](const SourceUse& a, const SourceUse& b) {
    return std::string_view(a.source->date) > std::string_view(b.source->date);
  });
  return uses;
}

}  // namespace quarkq::config
