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

void GraphPatch::apply(Graph& graph) const {
  GraphEdit edit(graph);
  std::vector<ValueId> made;
  for (const NewValue& value : values_) {
    made.push_back(value.data ? edit.add_initializer(value.name, *value.data) : edit.add_value(value.name, value.type));
  }
  auto resolve = [&](const PatchValue& handle) {
    return handle.made >= 0 ? made[static_cast<size_t>(handle.made)] : handle.existing;
  };
  std::vector<NodeId> origins;
  for (const NodeId id : removed_) {
    const auto& own = graph.node(id).origins;
    origins.insert(origins.end(), own.begin(), own.end());
  }
  std::sort(origins.begin(), origins.end());
  origins.erase(std::unique(origins.begin(), origins.end()), origins.end());
  for (const NewInput& change : inputs_) edit.set_input(change.node, change.index, resolve(change.value));
  std::vector<ValueId> orphans;
  for (const NodeId id : removed_) {
    for (const ValueId input : graph.node(id).inputs) {
      if (input.valid()) orphans.push_back(input);
    }
    for (const ValueId output : graph.node(id).outputs) {
      if (output.valid()) orphans.push_back(output);
    }
  }
  const NodeId before = removed_.empty() ? NodeId{} : removed_.front();
  for (const PatchNode& node : nodes_) {
    NodeSpec spec{node.op, node.domain, node.name, {}, {}, node.attributes, origins};
    for (const PatchValue& input : node.inputs) spec.inputs.push_back(resolve(input));
    for (const PatchValue& output : node.outputs) {
      const ValueId id = resolve(output);
      if (const Node* old_producer = graph.producer(id)) {  // the patch takes over a removed node's output
        const auto place = std::find(old_producer->outputs.begin(), old_producer->outputs.end(), id);
        edit.set_output(old_producer->id, static_cast<size_t>(place - old_producer->outputs.begin()), {});
      }
      spec.outputs.push_back(id);
    }
    edit.add_node(std::move(spec), before);
  }
  for (const NodeId id : removed_) edit.remove_node(id);
  for (const Replacement& change : replacements_) edit.replace_value(change.from, resolve(change.to));
  for (const Replacement& change : replacements_) orphans.push_back(change.from);
  std::sort(orphans.begin(), orphans.end());
  orphans.erase(std::unique(orphans.begin(), orphans.end()), orphans.end());
  for (const ValueId id : orphans) {
    if (!graph.is_alive(id)) continue;
    const Value& value = graph.value(id);
    if (!value.producer.valid() && graph.use_count(id) == 0 && (!value.is_input || value.is_initializer()) &&
        !value.is_captured) {
      edit.remove_value(id);
    }
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (graph.is_alive(made[i]) && !values_[i].name.empty()) edit.rename(made[i], values_[i].name);
  }
  for (const auto& [value, name] : names_) edit.rename(value, name);
}

}  // namespace quarkq::ir
