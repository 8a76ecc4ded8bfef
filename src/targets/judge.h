// SPDX-License-Identifier: MIT
// Verdicts of single operators, and the findings of rules, before regions are cut.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/targets/target.h"
#include "quarkq/check_target.h"
#include "targets/groups.h"

namespace quarkq::targets {

/// Reasons, each stored once.
class Reasons {
 public:
  size_t index_of(const TargetReason& reason);
  std::vector<TargetReason> rows;

 private:
  std::map<std::string, size_t> known_;
};

/// Of one operator.
struct Judgement {
  NodeVerdict verdict = NodeVerdict::kRuns;  ///< as if nothing blocked the whole model: never kBlocks
  bool blocks = false;
  size_t reason = 0;  ///< row of Judgements::reasons
};

struct Judgements {
  std::vector<Judgement> of;  ///< by node id
  Reasons reasons;
  std::vector<TargetFinding> findings;
  bool is_blocked = false;        ///< something keeps the whole model off the NPU
  bool is_whole_unknown = false;  ///< no source says what happens to the model
  bool has_wrong_results = false;
};

/// `type`: the target's row for the type of the model; null when there is none.
Judgements judge(const QuantizedView& view, const Groups& groups, const config::Target& target,
                 const config::TypeRow* type);

}  // namespace quarkq::targets
