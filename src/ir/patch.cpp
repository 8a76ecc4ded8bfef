// SPDX-License-Identifier: MIT
#include "ir/patch.h"

#include <algorithm>

namespace quarkq::ir {

PatchValue GraphPatch::initializer(std::string name, Tensor data) {
  values_.push_back({std::move(name), {}, std::move(data)});
  PatchValue handle;
  handle.made = static_cast<int>(values_.size()) - 1;
  return handle;
}

PatchValue GraphPatch::value(std::string name, ValueType type) {
  values_.push_back({std::move(name), std::move(type), std::nullopt});
  PatchValue handle;
  handle.made = static_cast<int>(values_.size()) - 1;
  return handle;
}

/// One patch on its way into a graph.
class GraphPatch::Application {
 public:
  Application(const GraphPatch& patch, Graph& graph) : patch_(patch), graph_(graph), edit_(graph) {}

  void run() {
    for (const NewValue& value : patch_.values_) {
      made_.push_back(value.data ? edit_.add_initializer(value.name, *value.data)
                                 : edit_.add_value(value.name, value.type));
    }
    for (const auto& [heir, node] : patch_.heirs_) {
      edit_.node(heir).origins = origins_of({heir, node});
    }
    for (const NewInput& change : patch_.inputs_) set_input(change);
    note_orphans();
    const std::vector<NodeId> origins = origins_of(patch_.removed_);
    for (const PatchNode& node : patch_.nodes_) {
      add_node(node, node.stands_for.empty() ? origins : origins_of(node.stands_for));
    }
    for (const NodeId id : patch_.removed_) edit_.remove_node(id);
    for (const NewOutput& change : patch_.outputs_) edit_.set_output(change.node, change.index, change.value);
    for (const NewAttribute& change : patch_.attributes_) edit_.node(change.node).set(change.name, change.value);
    for (const auto& [value, data] : patch_.constants_) edit_.set_constant(value, data);
    for (const Replacement& change : patch_.replacements_) edit_.replace_value(change.from, resolve(change.to));
    remove_orphans();
    for (size_t i = 0; i < made_.size(); ++i) {
      if (graph_.is_alive(made_[i]) && !patch_.values_[i].name.empty()) edit_.rename(made_[i], patch_.values_[i].name);
    }
    for (const auto& [value, name] : patch_.names_) edit_.rename(value, name);
  }

 private:
  ValueId resolve(const PatchValue& handle) const {
    return handle.made >= 0 ? made_[static_cast<size_t>(handle.made)] : handle.existing;
  }

  std::vector<NodeId> origins_of(const std::vector<NodeId>& nodes) const {
    std::vector<NodeId> origins;
    for (const NodeId id : nodes) {
      const auto& own = graph_.node(id).origins;
      origins.insert(origins.end(), own.begin(), own.end());
    }
    std::sort(origins.begin(), origins.end());
    origins.erase(std::unique(origins.begin(), origins.end()), origins.end());
    return origins;
  }

  void set_input(const NewInput& change) {
    while (graph_.node(change.node).inputs.size() <= change.index) edit_.append_input(change.node, {});
    edit_.set_input(change.node, change.index, resolve(change.value));
  }

  void add_node(const PatchNode& node, std::vector<NodeId> origins) {
    NodeSpec spec{node.op, node.domain, node.name, {}, {}, node.attributes, std::move(origins)};
    for (const PatchValue& input : node.inputs) spec.inputs.push_back(resolve(input));
    for (const PatchValue& output : node.outputs) {
      const ValueId id = resolve(output);
      if (const Node* old_producer = graph_.producer(id)) {  // the patch takes over a removed node's output
        const auto place = std::find(old_producer->outputs.begin(), old_producer->outputs.end(), id);
        edit_.set_output(old_producer->id, static_cast<size_t>(place - old_producer->outputs.begin()), {});
      }
      spec.outputs.push_back(id);
    }
    const bool has_place = !patch_.at_end_ && !patch_.removed_.empty();
    edit_.add_node(std::move(spec), has_place ? patch_.removed_.front() : NodeId{});
  }

  /// Values that must have neither readers nor a producer when the patch is applied.
  void note_orphans() {
    for (const NodeId id : patch_.removed_) {
      const Node& node = graph_.node(id);
      orphans_.insert(orphans_.end(), node.inputs.begin(), node.inputs.end());
      orphans_.insert(orphans_.end(), node.outputs.begin(), node.outputs.end());
    }
    for (const NewOutput& change : patch_.outputs_) orphans_.push_back(graph_.node(change.node).output(change.index));
    for (const Replacement& change : patch_.replacements_) orphans_.push_back(change.from);
    std::erase_if(orphans_, [](ValueId id) { return !id.valid(); });
    std::sort(orphans_.begin(), orphans_.end());
    orphans_.erase(std::unique(orphans_.begin(), orphans_.end()), orphans_.end());
  }

  void remove_orphans() {
    for (const ValueId id : orphans_) {
      if (!graph_.is_alive(id)) continue;
      const Value& value = graph_.value(id);
      const bool is_fed = (value.is_input && !value.is_initializer()) || value.is_captured;
      if (!value.producer.valid() && graph_.use_count(id) == 0 && !is_fed) edit_.remove_value(id);
    }
  }

  const GraphPatch& patch_;
  Graph& graph_;
  GraphEdit edit_;
  std::vector<ValueId> made_, orphans_;
};

void GraphPatch::apply(Graph& graph) const { Application(*this, graph).run(); }

}  // namespace quarkq::ir
