// SPDX-License-Identifier: MIT
// Resolution of names, patterns and subgraphs of the settings to nodes (ref:settings#node-selectors,
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

/// Regular expressions that select nodes by name. They come from settings files, and names from models. Therefore no
/// pattern and no name may exhaust the stack or need more than linear time in the length of the name.
class NamePattern {
 public:
  /// Parses ECMAScript syntax without group references. Fails with kInvalidArgument if the pattern is malformed or too
  /// large.
  static Result<NamePattern> parse(const std::string& text);

  /// Returns whether a part of `name` matches.
  bool matches(const std::string& name) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

// Resolution of names in settings: node names, tensor names, and labels printed in messages.

/// Returns the nodes with this name, otherwise the nodes with this label ("node conv1 (Conv)"), otherwise the producer
/// of the tensor with this name (for an input or a stored tensor, its readers). In compat mode only node names count.
/// Returns an empty list if there is none.
std::vector<ir::NodeId> nodes_meant(const ir::Graph& graph, const std::string& name, const config::Settings& settings);

/// Reports a name in `setting` that does not exist: kInvalidArgument with the nearest name, or in compat mode a warning
/// with this id.
Status unknown_name(const ir::Graph& graph, const std::string& name, const std::string& setting,
                    const config::Settings& settings, Diagnostics& diagnostics);

/// Adds the nodes selected by `selectors` to `marks`. `what` is the name of the setting in messages. Fails if a name
/// does not exist (in compat mode a warning), if there are patterns and no node matches any of them, if a pattern is
/// malformed, and if a subgraph has an unknown end or is open, that is, reaches an input of the graph without passing a
/// start.
Status mark_nodes(pass::SelectContext& context, const std::vector<config::Selector>& selectors, const std::string& what,
                  plan::NodeMarks& marks);

/// Marks the nodes between starts and ends, both included. With `complete`, follows every input; otherwise leaves a
/// node at the first input where the walk ends, like the reference.
Status mark_subgraph(const ir::Graph& graph, const config::Selector& selector, const std::string& what, bool complete,
                     plan::NodeMarks& marks);

/// Reads SubgraphJson of AutoMixprecision into selection.promotion_groups. If two groups contain a node, the earlier
/// one keeps it. Names refer to the loaded model, regardless of `quantized` in the file, because nodes keep them
/// through rewrites. Fails for a malformed file and for unknown names.
Status mark_groups(pass::SelectContext& context, bool by_name);

/// Implements input_nodes and output_nodes: adds the nodes before the first and after the last of these. Fails like
/// mark_nodes().
Status exclude_outside_range(pass::SelectContext& context, plan::NodeMarks& excluded);

}  // namespace quarkq::planning
