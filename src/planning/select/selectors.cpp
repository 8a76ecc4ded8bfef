// SPDX-License-Identifier: MIT
#include "planning/select/selectors.h"

#include "planning/select/name_pattern.h"
#include "planning/select/node_names.h"

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
  QQ_TRY(const NamePattern pattern, NamePattern::parse(selector.text).context(what));
  return add_matching(graph, marks, [&](const std::string& name) { return pattern.matches(name); });
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
      context.diagnostics.add("pattern-ignored", selector.text, what + ": ignored, a pattern needs .* in it");
    } else if (selector.kind == Selector::Kind::kPattern) {
      QQ_TRY(const size_t found, mark_pattern(graph, selector, what, marks));
      ++patterns;
      matched += found;
    } else {
      const std::vector<ir::NodeId> meant = nodes_meant(graph, selector.text, context.settings);
      for (const ir::NodeId id : meant) marks.add(graph.node(id));
      if (meant.empty())
        QQ_RETURN_IF_ERROR(unknown_name(graph, selector.text, what, context.settings, context.diagnostics));
    }
  }
  if (patterns > 0 && matched == 0) {
    return invalid_argument(what, ": no node matches any of the ", patterns, " patterns given");
  }
  return Status();
}

}  // namespace quarkq::planning
