// SPDX-License-Identifier: MIT
// From the names, patterns and subgraphs of the settings to nodes (ref:settings#node-selectors,
// ref:settings#subgraphs).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/error.h"
#include "config/settings.h"
#include "ir/graph.h"
#include "pass/context.h"

namespace quarkq::planning {

/// Regular expressions that select nodes by name. They come from settings files, and names from models: neither a
/// pattern nor a name may take all of the stack, or time that is more than linear in the name.
class NamePattern {
 public:
  /// ECMAScript's syntax without references to groups. Fails (kInvalidArgument) on what is malformed or too large.
  static Result<NamePattern> parse(const std::string& text);

  /// Whether a part of `name` matches.
  bool matches(const std::string& name) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

// Resolves names in settings: names of nodes, names of tensors, and labels that messages print.

/// Nodes of this name, else those that messages call so ("node conv1 (Conv)"), else the producer of the tensor of this
/// name, or for an input or a stored tensor its readers. In compat mode node names only. Empty: none.
std::vector<ir::NodeId> nodes_meant(const ir::Graph& graph, const std::string& name, const config::Settings& settings);

/// A name in `setting` that nothing has: kInvalidArgument with the nearest one; in compat mode a warning of this id.
Status unknown_name(const ir::Graph& graph, const std::string& name, const std::string& setting,
                    const config::Settings& settings, Diagnostics& diagnostics);

/// Adds the nodes that `selectors` find to `marks`. `what` names the setting in messages. Fails when nothing has a name
/// (in compat mode a warning), when there are patterns and no node matches any, when a pattern is malformed, and when a
/// subgraph has an unknown end or is open: reaches an input of the graph without passing a start.
Status mark_nodes(pass::SelectContext& context, const std::vector<config::Selector>& selectors, const std::string& what,
                  plan::NodeMarks& marks);

/// The nodes between starts and ends, ends and starts included. `complete`: every input is followed; otherwise a node
/// is left at the first input where the walk ends, as the reference does.
Status mark_subgraph(const ir::Graph& graph, const config::Selector& selector, const std::string& what, bool complete,
                     plan::NodeMarks& marks);

/// SubgraphJson of AutoMixprecision: fills selection.promotion_groups; the earlier group keeps a node of two. Names are
/// those of the model as loaded, whatever the file says of `quantized`: nodes keep them through rewrites. Fails for a
/// malformed file and for unknown names.
Status mark_groups(pass::SelectContext& context, bool by_name);

/// input_nodes and output_nodes: adds the nodes before the first ones and after the last ones. Fails as above.
Status exclude_outside_range(pass::SelectContext& context, plan::NodeMarks& excluded);

}  // namespace quarkq::planning
