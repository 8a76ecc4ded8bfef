// SPDX-License-Identifier: MIT
// Rules: predicates over a model. Where one holds is its own matter, what happens there is that of the target's row.
#pragma once

#include <string>
#include <vector>

#include "config/targets/target.h"
#include "targets/groups.h"

namespace quarkq::targets {

struct RuleInput {
  const QuantizedView& view;
  const Groups& groups;
  double limit = 0;  ///< of the target's row, for the rules that have one
};

/// A place where a rule holds; `node` is invalid for the model as a whole.
struct Hit {
  ir::NodeId node;
  std::string found;             ///< "opset 18", "kernel_shape and pads are missing"; may be empty
  const char* remedy = nullptr;  ///< id of the remedy where that of the rule does not help; null: the rule's
};

using Hits = std::vector<Hit>;
using Rule = void (*)(const RuleInput& input, Hits& hits);

#define TARGET_RULE(id, function, remedy, summary) void function(const RuleInput& input, Hits& hits);
#include "config/targets/rules.def"
#undef TARGET_RULE

/// The predicate of a row of rules.def, null when there is none.
Rule find_predicate(const std::string& id);

/// Calls `holds(node)`, which says what was found, for each operator; an empty optional is no hit.
template <typename Holds>
void for_operators(const RuleInput& input, Hits& hits, const Holds& holds) {
  for (const ir::NodeId id : input.view.operators) {
    if (auto found = holds(input.view.node(id))) hits.push_back({id, std::move(*found)});
  }
}

}  // namespace quarkq::targets
