// SPDX-License-Identifier: MIT
#include "planning/select/selectors.h"

#include <regex>

namespace quarkq::planning {
namespace {

using config::Selector;

/// Adds the named nodes for which `matches` holds; returns how many.
template <typename Matches>
size_t add_matching(const ir::Graph& graph, plan::NodeMarks& marks, Matches matches) {
  size_t found = 0;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (node.name.empty() || !matches(node.name)) continue;
    marks.add(node);
    ++found;
  }
  return found;
}

Result<size_t> mark_pattern(const ir::Graph& graph, const Selector& selector, const std::string& what,
                            plan::NodeMarks& marks) {
  try {
    const std::regex pattern(selector.text, std::regex::ECMAScript);
    return add_matching(graph, marks, [&](const std::string& name) { return std::regex_search(name, pattern); });
  } catch (const std::regex_error& error) {
    return invalid_argument(what, ": pattern '", selector.text, "' is malformed, ", error.what());
  }
}

}  // namespace

Status mark_nodes(pass::SelectContext& context, const std::vector<Selector>& selectors, const std::string& what,
                  plan::NodeMarks& marks) {
  const ir::Graph& graph = context.graph();
  const bool complete = context.settings.quirk(config::Quirk::kCompleteSubgraphs);
  size_t patterns = 0, matched = 0;
  for (const Selector& selector : selectors) {
    if (selector.kind == Selector::Kind::kSubgraph) {
      QQ_RETURN_IF_ERROR(mark_subgraph(graph, selector, what, complete, marks));
    } else if (selector.kind == Selector::Kind::kPattern && selector.text.find(".*") == std::string::npos) {
      context.diagnostics.warn(
          "pattern-ignored", selector.text,
          what + ": a pattern needs .* in it (^Conv_2.* for names that begin with Conv_2), left out");
    } else if (selector.kind == Selector::Kind::kPattern) {
      QQ_TRY(const size_t found, mark_pattern(graph, selector, what, marks));
      ++patterns;
      matched += found;
    } else if (add_matching(graph, marks, [&](const std::string& name) { return name == selector.text; }) == 0) {
      context.diagnostics.warn("node-unknown", selector.text,
                               what + ": no node has this name, the entry has no effect");
    }
  }
  if (patterns > 0 && matched == 0) {
    return invalid_argument(what, ": no node matches any of the ", patterns, " patterns given");
  }
  return Status();
}

}  // namespace quarkq::planning
