// SPDX-License-Identifier: MIT
#include "planning/select/selectors.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "ir/traversal.h"

#define _GLIBCXX_REGEX_STATE_LIMIT 10000  // NOLINT: of the C++ library; its own limit is 100,000 states for each letter

#include <regex>

namespace quarkq::planning {
namespace {

constexpr size_t kMaxPatternBytes = 1000;  // brackets nest as deep, and the C++ library parses them by recursion

/// The C++ library's other algorithm recurses once per letter, and tries all ways of repeating. This one follows all
/// states at once.
constexpr auto kSyntax = std::regex::ECMAScript | std::regex_constants::__polynomial;

}  // namespace

struct NamePattern::Compiled {
  std::regex regex;
};

Result<NamePattern> NamePattern::parse(const std::string& text) {
  if (text.size() > kMaxPatternBytes)
    return invalid_argument("pattern '", text.substr(0, 40), "...' has ", text.size(), " bytes, allowed are ",
                            kMaxPatternBytes);
  try {
    NamePattern pattern;
    pattern.compiled_ = std::make_shared<const Compiled>(Compiled{std::regex(text, kSyntax)});
    return pattern;
  } catch (const std::regex_error& error) {
    if (error.code() == std::regex_constants::error_complexity)
      return invalid_argument("pattern '", text, "' refers to a group, which is not supported");
    return invalid_argument("pattern '", text, "' is malformed, ", error.what());
  }
}

bool NamePattern::matches(const std::string& name) const { return std::regex_search(name, compiled_->regex); }

namespace {

std::vector<ir::NodeId> nodes_of_tensor(const ir::Graph& graph, const std::string& name) {
  const ir::ValueId id = graph.find(name);
  if (!id.valid()) return {};
  const ir::Value& value = graph.value(id);
  if (value.producer.valid()) return {value.producer};
  std::vector<ir::NodeId> readers;
  for (const ir::Use& use : value.uses) readers.push_back(use.node);
  return readers;
}

std::vector<std::string> known_names(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!node.name.empty()) names.push_back(node.name);
    for (const ir::ValueId output : node.outputs) {
      if (output.valid()) names.push_back(graph.value(output).name);
    }
  }
  return names;
}

}  // namespace

std::vector<ir::NodeId> nodes_meant(const ir::Graph& graph, const std::string& name, const config::Settings& settings) {
  std::vector<ir::NodeId> named, labelled;
  for (const ir::NodeId id : graph.order()) {
    if (!name.empty() && graph.node(id).name == name) named.push_back(id);
    if (graph.label(id) == name) labelled.push_back(id);
  }
  if (!named.empty() || !settings.quirk(config::Quirk::kRefuseUnknownNames)) return named;
  return labelled.empty() ? nodes_of_tensor(graph, name) : labelled;
}

Status unknown_name(const ir::Graph& graph, const std::string& name, const std::string& setting,
                    const config::Settings& settings, Diagnostics& diagnostics) {
  const std::string text = "no node or tensor of the model has this name";
  if (settings.quirk(config::Quirk::kRefuseUnknownNames)) {
    return invalid_argument(setting, ": found ", name, ", ", text, did_you_mean(name, known_names(graph)),
                            "; quarkq inspect MODEL --nodes lists the names");
  }
  diagnostics.add("node-unknown", name, cat(setting, ": ", text, "; the entry has no effect"));
  return Status();
}

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

// The walk from the ends of a subgraph back to its starts (ref:settings#subgraphs).

namespace {

class Walk {
 public:
  Walk(const ir::Graph& graph, const config::Selector& selector, bool complete, plan::NodeMarks& marks)
      : graph_(graph), selector_(selector), complete_(complete), marks_(marks) {}

  /// A stack of (node, next input): graphs are deeper than call stacks.
  void from(const ir::Node& end) {
    stack_.push_back({end.id, 0});
    marks_.add(end);
    while (!stack_.empty()) step();
  }

  /// Name of the graph input that a way from an end reaches without passing a start; empty if there is none.
  const std::string& open_input() const { return open_input_; }
  /// The nodes that lead in: readers of graph inputs, as "name (Operator)".
  const std::vector<std::string>& readers() const { return readers_; }

 private:
  struct Frame {
    ir::NodeId node;
    size_t input;
  };

  bool is_start(const std::string& name) const {
    return std::find(selector_.starts.begin(), selector_.starts.end(), name) != selector_.starts.end();
  }

  void step() {
    Frame& frame = stack_.back();
    const ir::Node& node = graph_.node(frame.node);
    if (frame.input >= node.inputs.size()) {
      stack_.pop_back();
      return;
    }
    const ir::ValueId value = node.inputs[frame.input++];
    if (!value.valid() || graph_.value(value).is_initializer()) return;
    const ir::Node* producer = graph_.producer(value);
    const bool is_new = visited_.insert(value).second;
    if (producer == nullptr) add_open(node, graph_.value(value).name);
    if (producer != nullptr && is_start(producer->name)) marks_.add(*producer);
    if (producer == nullptr || !is_new || is_start(producer->name)) {
      if (!complete_) stack_.pop_back();
      return;
    }
    marks_.add(*producer);
    stack_.push_back({producer->id, 0});
  }

  void add_open(const ir::Node& reader, const std::string& input) {
    open_input_ = input;
    std::string text = cat(reader.name.empty() ? "a node without a name" : reader.name, " (", reader.op, ")");
    if (std::ranges::find(readers_, text) == readers_.end()) readers_.push_back(std::move(text));
  }

  const ir::Graph& graph_;
  const config::Selector& selector_;
  bool complete_;
  plan::NodeMarks& marks_;
  std::vector<Frame> stack_;
  std::set<ir::ValueId> visited_;
  std::string open_input_;
  std::vector<std::string> readers_;
};

}  // namespace

Status mark_subgraph(const ir::Graph& graph, const config::Selector& selector, const std::string& what, bool complete,
                     plan::NodeMarks& marks) {
  Walk walk(graph, selector, complete, marks);
  for (const auto* names : {&selector.starts, &selector.ends}) {
    for (const std::string& name : *names) {
      const ir::NodeId id = ir::node_named(graph, name);
      if (!id.valid()) return invalid_argument(what, ": subgraph: no node is named ", name);
      marks.add(graph.node(id));
      const bool is_also_start =
          std::find(selector.starts.begin(), selector.starts.end(), name) != selector.starts.end();
      if (names == &selector.ends && !is_also_start) walk.from(graph.node(id));
    }
  }
  if (walk.open_input().empty()) return Status();
  return invalid_argument(what, ": the subgraph from ", join(selector.starts, ", "), " to ", join(selector.ends, ", "),
                          " is open: it reaches the graph's input ", walk.open_input(),
                          " without passing a start; add to the starts ", join(walk.readers(), ", "));
}

// input_nodes and output_nodes: nodes before and after them stay float (ref:settings#input-and-output-nodes). By
// position in the sorted order (ref:writing#node-order), not by reachability, as the reference does.

namespace {

/// A graph output means its producer in compat mode, too, and a graph input its readers.
std::vector<ir::NodeId> named_nodes(const pass::SelectContext& context, const std::string& name) {
  const ir::Graph& graph = context.graph();
  std::vector<ir::NodeId> nodes = nodes_meant(graph, name, context.settings);
  const bool is_named = !nodes.empty() && graph.node(nodes.front()).name == name;
  if (is_named) return {nodes.front()};
  if (!nodes.empty()) return nodes;
  const ir::ValueId value = graph.find(name);
  if (!value.valid()) return nodes;
  if (graph.value(value).is_input) {
    for (const ir::Use& use : graph.value(value).uses) nodes.push_back(use.node);
  } else if (graph.value(value).is_output && graph.value(value).producer.valid()) {
    nodes.push_back(graph.value(value).producer);
  }
  return nodes;
}

/// Positions in node order of all that `names` mean.
Result<std::vector<size_t>> positions_of(pass::SelectContext& context, const std::vector<ir::NodeId>& order,
                                         const std::vector<std::string>& names, const char* setting) {
  std::vector<size_t> positions;
  for (const std::string& name : names) {
    const std::vector<ir::NodeId> found = named_nodes(context, name);
    if (found.empty())
      QQ_RETURN_IF_ERROR(unknown_name(context.graph(), name, setting, context.settings, context.diagnostics));
    for (const ir::NodeId id : found) {
      positions.push_back(static_cast<size_t>(std::find(order.begin(), order.end(), id) - order.begin()));
    }
  }
  return positions;
}

}  // namespace

Status exclude_outside_range(pass::SelectContext& context, plan::NodeMarks& excluded) {
  const auto& asked = context.settings.selection;
  if (asked.input_nodes.empty() && asked.output_nodes.empty()) return Status();
  ir::Graph sorted = context.graph();
  QQ_RETURN_IF_ERROR(ir::sort_topologically(sorted).status());
  const std::vector<ir::NodeId>& order = sorted.order();
  QQ_TRY(const std::vector<size_t> first, positions_of(context, order, asked.input_nodes, "input_nodes"));
  QQ_TRY(const std::vector<size_t> last, positions_of(context, order, asked.output_nodes, "output_nodes"));
  const auto contains = [](const std::vector<size_t>& list, size_t position) {
    return std::find(list.begin(), list.end(), position) != list.end();
  };
  for (size_t i = 0; i < order.size(); ++i) {
    const bool before = !first.empty() && i < *std::max_element(first.begin(), first.end()) && !contains(first, i);
    const bool after = !last.empty() && i > *std::min_element(last.begin(), last.end()) && !contains(last, i);
    if (before || after) excluded.add(context.graph().node(order[i]));
  }
  return Status();
}

}  // namespace quarkq::planning
