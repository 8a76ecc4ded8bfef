// SPDX-License-Identifier: MIT
// The driver of rewrite rules: rules read nodes and propose patches, the driver walks the graph and applies them.
// Order, repetition and the work in between are a policy; reproducing another tool's order is one, too.
// docs/adr/0008-one-driver.md
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ir/patch.h"
#include "pass/context.h"

namespace quarkq::rewrite {

/// A patch, or nothing when the rule does not apply. An error stops the pass.
using Proposal = Result<std::optional<ir::GraphPatch>>;
/// Looks at one node. A rule that numbers what it makes may do so: the driver applies all that it proposes.
using Rule = std::function<Proposal(const ir::Graph&, const ir::Node&)>;

/// How the driver walks the graph. Default: once, in list order, and the first rule that proposes something at a node
/// is the only one there.
struct Policy {
  int max_sweeps = 1;
  bool every_rule = false;  ///< at each node all rules are asked, each on what the one before it left
  /// The nodes of one sweep; those that patches make are not among them. Null: list order.
  std::function<std::vector<ir::NodeId>(const ir::Graph&)> order = nullptr;
  /// Nodes that the rules do not see in this sweep. Null: none.
  std::function<bool(const ir::Node&)> skips = nullptr;
  /// Called for each applied patch; nodes from number `first_made` on are new.
  std::function<void(size_t first_made)> applied = nullptr;
  /// Cleaning-up after a sweep that changed something. Null: none.
  std::function<void(ir::Graph&)> end_sweep = nullptr;
};

struct Outcome {
  bool changed = false;
  bool settled = false;  ///< the last sweep found nothing
};

Result<Outcome> apply_rules(ir::Graph& graph, std::span<const Rule> rules, const Policy& policy);

/// Sweeps in list order until nothing changes, at most 10 times; a diagnostic reports it when that was not enough.
/// Removes what became dead.
Result<Changed> run_rule(pass::FloatContext& context, const char* pass, const Rule& rule);

/// One sweep in list order. Removing dead nodes is left to the caller.
Result<Changed> run_once(ir::Graph& graph, const Rule& rule);

}  // namespace quarkq::rewrite
