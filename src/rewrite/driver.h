// SPDX-License-Identifier: MIT
// The driver of rewrite rules: rules read nodes and propose patches; the driver walks the graph and applies them. A
// policy defines order, repetition and intermediate steps, including the order of another tool.
// docs/adr/0008-one-driver.md
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ir/patch.h"
#include "pass/context.h"

namespace quarkq::rewrite {

/// A patch, or nullopt if the rule does not apply. An error stops the pass.
using Proposal = Result<std::optional<ir::GraphPatch>>;
/// Examines one node. A rule may number the nodes that it creates, because the driver applies all proposals.
using Rule = std::function<Proposal(const ir::Graph&, const ir::Node&)>;

/// How the driver walks the graph. Default: once, in list order, and only the first rule with a proposal applies to a
/// node.
struct Policy {
  int max_sweeps = 1;
  bool every_rule = false;  ///< Run all rules at each node, each on the result of the preceding rule.
  /// Returns the nodes of one sweep, without nodes created by patches. Null: list order.
  std::function<std::vector<ir::NodeId>(const ir::Graph&)> order = nullptr;
  /// Returns nodes that the rules do not see in this sweep. Null: none.
  std::function<bool(const ir::Node&)> skips = nullptr;
  /// Called for each applied patch. Nodes numbered `first_made` or higher are new.
  std::function<void(size_t first_made)> applied = nullptr;
  /// Clean-up after a sweep that changed something. Null: none.
  std::function<void(ir::Graph&)> end_sweep = nullptr;
};

struct Outcome {
  bool changed = false;
  bool settled = false;  ///< The last sweep found nothing.
};

Result<Outcome> apply_rules(ir::Graph& graph, std::span<const Rule> rules, const Policy& policy);

/// Sweeps in list order until nothing changes, at most 10 times; a diagnostic reports that the limit was reached.
/// Removes dead nodes.
Result<Changed> run_rule(pass::FloatContext& context, const char* pass, const Rule& rule);

/// Runs one sweep in list order. The caller must remove dead nodes.
Result<Changed> run_once(ir::Graph& graph, const Rule& rule);

}  // namespace quarkq::rewrite
