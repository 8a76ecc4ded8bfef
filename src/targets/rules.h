// SPDX-License-Identifier: MIT
// Rules: predicates over a model. A rule decides where it applies; the target's row decides the effect.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/targets/target.h"
#include "quarkq/check.h"
#include "targets/quantized_view.h"

namespace quarkq::targets {

struct RegionPlan;

struct RuleInput {
  const QuantizedView& view;
  const Groups& groups;
  double limit = 0;                  ///< Limit of the target's row, for rules with a limit.
  const RegionPlan* plan = nullptr;  ///< Null until the regions are computed.
};

/// The rule about regions. It is applied after them and cannot change the placement.
inline constexpr const char kRegionRule[] = "regions-above";

/// A place where a rule applies; `node` is invalid for the model as a whole.
struct Hit {
  ir::NodeId node;
  std::string found;             ///< "opset 18", "kernel_shape and pads are missing"; may be empty.
  const char* remedy = nullptr;  ///< Id of the remedy if the rule's own remedy does not help; null: the rule's remedy.
};

using Hits = std::vector<Hit>;
using Rule = void (*)(const RuleInput& input, Hits& hits);

#define TARGET_RULE(id, function, remedy, summary) void function(const RuleInput& input, Hits& hits);
#include "config/targets/rules.def"
#undef TARGET_RULE

/// Returns the predicate of a row of rules.def, or null if there is none.
Rule find_predicate(const std::string& id);

/// Returns whether input 1 of the operator is a weight and input 2 a bias.
inline bool takes_bias(const ir::Node& node) { return node.is("Conv") || node.is("Gemm") || node.is("ConvTranspose"); }

/// Calls `holds(node)` for each operator. It returns the text of the finding, or nullopt if the rule does not apply.
template <typename Holds>
void for_operators(const RuleInput& input, Hits& hits, const Holds& holds) {
  for (const ir::NodeId id : input.view.operators) {
    if (auto found = holds(input.view.node(id))) hits.push_back({id, std::move(*found)});
  }
}

// Verdicts of single operators, and the findings of rules, before regions are computed.

/// Reasons, each stored once.
class Reasons {
 public:
  size_t index_of(const TargetReason& reason);
  std::vector<TargetReason> rows;

 private:
  std::map<std::string, size_t> known_;
};

/// Verdict of one operator.
struct Judgement {
  NodeVerdict verdict = NodeVerdict::kRuns;  ///< Verdict if nothing blocked the whole model: never kBlocks.
  bool blocks = false;
  size_t reason = 0;  ///< Row of Judgements::reasons.
};

struct Judgements {
  std::vector<Judgement> of;  ///< Indexed by node id.
  Reasons reasons;
  std::vector<TargetFinding> findings;
  bool is_blocked = false;        ///< A finding keeps the whole model off the NPU.
  bool is_whole_unknown = false;  ///< No source states what happens to the model.
  bool has_wrong_results = false;
};

/// `type` is the target's row for the type of the model, or null if there is none.
Judgements judge(const QuantizedView& view, const Groups& groups, const config::Target& target,
                 const config::TypeRow* type);

/// Returns the findings of kRegionRule. REQUIRES: `input.plan` is set.
std::vector<TargetFinding> judge_regions(const RuleInput& input, const config::Target& target,
                                         const config::TypeRow* type);

}  // namespace quarkq::targets
