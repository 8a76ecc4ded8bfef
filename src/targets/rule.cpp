// SPDX-License-Identifier: MIT
#include "targets/rule.h"

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

}  // namespace quarkq::targets
