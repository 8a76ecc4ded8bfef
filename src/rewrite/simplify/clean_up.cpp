// SPDX-License-Identifier: MIT
// Clean-up after each step: removes unread nodes and sorts the list by levels.
#include <algorithm>

#include "rewrite/simplify/simplify.h"

namespace quarkq::rewrite::simplify {
namespace {

size_t at(ir::NodeId id) { return static_cast<size_t>(id.index); }

/// Producers of a node's inputs in their order, then of what its nested graphs read.
std::vector<ir::NodeId> producers_of(const ir::Graph& graph, const ir::Node& node) {
  std::vector<ir::NodeId> producers;
  auto add = [&](ir::ValueId value) {
    if (value.valid() && graph.value(value).producer.valid()) producers.push_back(graph.value(value).producer);
  };
  for (const ir::ValueId input : node.inputs) add(input);
  for (const ir::Capture& capture : node.captures) add(capture.outer);
  return producers;
}

/// Depth first, each node after its producers, without recursion: graphs are deep.
class Walk {
 public:
  explicit Walk(const ir::Graph& graph)
      : graph_(graph), state_(graph.node_count(), kNew), level_(graph.node_count(), 0) {}

  Status visit(ir::NodeId root) {
    push(root);
    while (!stack_.empty()) {
      Entry& top = stack_.back();
      if (top.next == top.producers.size()) {
        leave(top);
        continue;
      }
      const ir::NodeId producer = top.producers[top.next++];
      if (state_[at(producer)] == kOpen) return corrupt_model(graph_.label(producer), ": is part of a cycle");
      push(producer);
    }
    return Status();
  }

  std::vector<ir::NodeId> order_by_level() {
    std::stable_sort(list_.begin(), list_.end(),
                     [&](ir::NodeId a, ir::NodeId b) { return level_[at(a)] < level_[at(b)]; });
    return std::move(list_);
  }

 private:
  enum State : char { kNew, kOpen, kDone };
  struct Entry {
    ir::NodeId id;
    std::vector<ir::NodeId> producers;
    size_t next = 0;
  };

  void push(ir::NodeId id) {
    if (state_[at(id)] != kNew) return;
    state_[at(id)] = kOpen;
    stack_.push_back({id, producers_of(graph_, graph_.node(id))});
  }
  void leave(const Entry& entry) {
    int level = 0;
    for (const ir::NodeId producer : entry.producers) level = std::max(level, level_[at(producer)] + 1);
    level_[at(entry.id)] = level;
    state_[at(entry.id)] = kDone;
    list_.push_back(entry.id);
    stack_.pop_back();
  }

  const ir::Graph& graph_;
  std::vector<State> state_;
  std::vector<int> level_;
  std::vector<Entry> stack_;
  std::vector<ir::NodeId> list_;
};

}  // namespace

Status sort_by_level(Scope& scope) {
  Walk walk(scope.graph);
  for (const ir::NodeId id : scope.graph.order()) QQ_RETURN_IF_ERROR(walk.visit(id));
  ir::GraphEdit(scope.graph).set_order(walk.order_by_level());
  return Status();
}

Status clean_up(Scope& scope) {
  ir::GraphEdit(scope.graph).remove_dead();
  return sort_by_level(scope);
}

}  // namespace quarkq::rewrite::simplify
