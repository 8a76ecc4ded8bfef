// SPDX-License-Identifier: MIT
// The walk from the ends of a subgraph back to its starts (ref:settings#subgraphs).
#include <algorithm>
#include <set>

#include "ir/search.h"
#include "planning/select/selectors.h"

namespace quarkq::planning {
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

}  // namespace quarkq::planning
