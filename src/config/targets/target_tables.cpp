// SPDX-License-Identifier: MIT
// The tables of rules and remedies, and the spelling of verdicts and effects.
#include <algorithm>
#include <array>

#include "config/targets/target.h"
#include "config/targets/target_rows.h"

namespace quarkq::config {
namespace {

template <typename Row>
const Row* row_with_id(const std::vector<Row>& rows, const std::string& id) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.id == id; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

const std::array<const char*, 4> kPlacementNames = {"runs", "falls-back", "blocks", "unknown"};
const std::array<const char*, 6> kEffectNames = {"crash",      "nothing-placed", "wrong-results",
                                                 "falls-back", "unknown",        "note"};

const char* text_of(Placement placement) { return kPlacementNames[static_cast<size_t>(placement)]; }
const char* text_of(Effect effect) { return kEffectNames[static_cast<size_t>(effect)]; }

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

}  // namespace quarkq::config
