// SPDX-License-Identifier: MIT
#include "ir/edit.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/strings.h"
#include "ir/traversal.h"

namespace quarkq::ir {

namespace {

/// Position of `id` in `list`, the list's size when it is not there. Edits follow each other in the list, so the search
/// spreads from `place`, which becomes the position: a sweep over a long list costs no more than its steps.
template <typename Id>
size_t find_near(const std::vector<Id>& list, Id id, size_t& place) {
  size_t up = std::min(place, list.size()), down = up;
  while (down > 0 || up < list.size()) {
    if (up < list.size()) {
      if (list[up] == id) return place = up;
      ++up;
    }
    if (down > 0 && list[--down] == id) return place = down;
  }
  return list.size();
}

template <typename Id>
void erase_near(std::vector<Id>& list, Id id, size_t& place) {
  const size_t found = find_near(list, id, place);
  if (found < list.size()) list.erase(list.begin() + static_cast<std::ptrdiff_t>(found));
}

}  // namespace

std::string GraphEdit::unique_name(const std::string& wanted) const {
  const std::string base = wanted.empty() ? cat("value_", graph_.values_.size()) : wanted;
  std::string name = base;
  for (int suffix = 1; graph_.by_name_.contains(name); ++suffix) name = cat(base, "_", suffix);
  return name;
}

ValueId GraphEdit::add_value(const std::string& name, ValueType type) {
  const ValueId id{static_cast<int32_t>(graph_.values_.size())};
  Value value;
  value.id = id;
  value.name = unique_name(name);
  value.type = std::move(type);
  graph_.by_name_[value.name] = id;
  graph_.values_.push_back(std::move(value));
  graph_.value_alive_.push_back(true);
  return id;
}

ValueId GraphEdit::add_initializer(const std::string& name, Tensor data) {
  const ValueId id = add_value(name);
  set_constant(id, std::move(data));
  return id;
}

NodeId GraphEdit::add_node(NodeSpec spec, NodeId before) {
  const NodeId id{static_cast<int32_t>(graph_.nodes_.size())};
  Node node;
  node.id = id;
  node.op = std::move(spec.op);
  node.domain = std::move(spec.domain);
  node.name = std::move(spec.name);
  node.attributes = std::move(spec.attributes);
  node.origins = std::move(spec.origins);
  graph_.nodes_.push_back(std::move(node));
  graph_.node_alive_.push_back(true);
  for (const ValueId input : spec.inputs) append_input(id, input);
  graph_.nodes_.back().outputs.resize(spec.outputs.size());
  for (size_t i = 0; i < spec.outputs.size(); ++i) set_output(id, i, spec.outputs[i]);
  const size_t place = before.valid() ? find_near(graph_.order_, before, graph_.order_place_) : graph_.order_.size();
  graph_.order_.insert(graph_.order_.begin() + static_cast<std::ptrdiff_t>(place), id);
  return id;
}

void GraphEdit::remove_node(NodeId id) {
  Node& removed = node(id);
  for (size_t i = 0; i < removed.inputs.size(); ++i) set_input(id, i, {});
  for (size_t i = 0; i < removed.outputs.size(); ++i) set_output(id, i, {});
  set_captures(id, {});
  graph_.node_alive_[static_cast<size_t>(id.index)] = false;
  erase_near(graph_.order_, id, graph_.order_place_);
}

void GraphEdit::remove_value(ValueId id) {
  Value& removed = mutable_value(id);
  QQ_CHECK(!removed.producer.valid() && removed.uses.empty() && !removed.is_output);
  clear_constant(id);
  if (removed.is_input) remove_graph_input(id);
  graph_.by_name_.erase(removed.name);
  graph_.value_alive_[static_cast<size_t>(id.index)] = false;
}

void GraphEdit::drop_use(ValueId value, const Use& use) {
  if (!value.valid()) return;
  auto& uses = mutable_value(value).uses;
  const auto found = std::find(uses.begin(), uses.end(), use);
  if (found != uses.end()) uses.erase(found);
}

void GraphEdit::set_input(NodeId id, size_t index, ValueId value) {
  Node& changed = node(id);
  const Use use{id, static_cast<int32_t>(index), false};
  drop_use(changed.inputs[index], use);
  changed.inputs[index] = value;
  if (value.valid()) mutable_value(value).uses.push_back(use);
}

void GraphEdit::append_input(NodeId id, ValueId value) {
  node(id).inputs.emplace_back();
  set_input(id, node(id).inputs.size() - 1, value);
}

void GraphEdit::set_output(NodeId id, size_t index, ValueId value) {
  Node& changed = node(id);
  if (changed.outputs.size() <= index) changed.outputs.resize(index + 1);
  if (changed.outputs[index].valid()) mutable_value(changed.outputs[index]).producer = {};
  changed.outputs[index] = value;
  if (!value.valid()) return;
  QQ_CHECK(!mutable_value(value).producer.valid());
  mutable_value(value).producer = id;
}

void GraphEdit::set_captures(NodeId id, std::vector<Capture> captures) {
  Node& changed = node(id);
  for (size_t i = 0; i < changed.captures.size(); ++i) {
    drop_use(changed.captures[i].outer, {id, static_cast<int32_t>(i), true});
  }
  changed.captures = std::move(captures);
  for (size_t i = 0; i < changed.captures.size(); ++i) {
    mutable_value(changed.captures[i].outer).uses.push_back({id, static_cast<int32_t>(i), true});
  }
}

void GraphEdit::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  std::vector<Use> moved;
  moved.swap(mutable_value(from).uses);
  for (const Use& use : moved) {
    Node& reader = node(use.node);
    if (use.is_capture) {
      reader.captures[static_cast<size_t>(use.input)].outer = to;
    } else {
      reader.inputs[static_cast<size_t>(use.input)] = to;
    }
    mutable_value(to).uses.push_back(use);
  }
}

void GraphEdit::replace_value(ValueId from, ValueId to) {
  replace_uses(from, to);
  Value& old_value = mutable_value(from);
  if (!old_value.is_output) return;
  old_value.is_output = false;
  std::replace(graph_.outputs_.begin(), graph_.outputs_.end(), from, to);
  Value& new_value = mutable_value(to);
  new_value.is_output = true;
  const std::string name = old_value.name;
  rename(from, unique_name(name + "_replaced"));
  rename(to, name);
  if (!new_value.type.is_tensor()) new_value.type = old_value.type;
}

bool GraphEdit::rename(ValueId id, const std::string& name) {
  Value& renamed = mutable_value(id);
  if (renamed.name == name) return true;
  if (name.empty() || graph_.by_name_.contains(name)) return false;
  graph_.by_name_.erase(renamed.name);
  renamed.name = name;
  graph_.by_name_[name] = id;
  return true;
}

void GraphEdit::set_constant(ValueId id, Tensor data) {
  Value& changed = mutable_value(id);
  if (!changed.constant) graph_.initializers_.push_back(id);
  changed.type = {};
  changed.type.element = data.type();
  changed.type.has_shape = true;
  for (const int64_t dim : data.dims()) changed.type.dims.push_back({dim, {}});
  changed.constant = graph_.settled(std::move(data));
}

void GraphEdit::clear_constant(ValueId id) {
  if (!mutable_value(id).constant) return;
  mutable_value(id).constant.reset();
  erase_near(graph_.initializers_, id, graph_.initializer_place_);
}

void GraphEdit::add_graph_input(ValueId id) {
  mutable_value(id).is_input = true;
  graph_.inputs_.push_back(id);
}

void GraphEdit::remove_graph_input(ValueId id) {
  mutable_value(id).is_input = false;
  std::erase(graph_.inputs_, id);
}

void GraphEdit::add_graph_output(ValueId id) {
  mutable_value(id).is_output = true;
  graph_.outputs_.push_back(id);
}

void GraphEdit::set_graph_outputs(const std::vector<ValueId>& values) {
  for (const ValueId id : graph_.outputs_) mutable_value(id).is_output = false;
  graph_.outputs_.clear();
  for (const ValueId id : values) add_graph_output(id);
}

void GraphEdit::mark_captured(ValueId id) {
  mutable_value(id).is_captured = true;
  graph_.captured_.push_back(id);
}

void GraphEdit::unmark_captured(ValueId id) {
  QQ_CHECK(graph_.use_count(id) == 0);
  mutable_value(id).is_captured = false;
  std::erase(graph_.captured_, id);
}

void GraphEdit::set_order(std::vector<NodeId> order) {
  QQ_CHECK(order.size() == graph_.order_.size());
  graph_.order_ = std::move(order);
}

size_t GraphEdit::remove_dead() {
  size_t removed = 0;
  std::vector<NodeId> candidates(graph_.order_.rbegin(), graph_.order_.rend());
  bool changed = true;
  while (changed) {
    changed = false;
    for (const NodeId id : candidates) {
      if (!graph_.is_alive(id)) continue;
      const std::vector<ValueId> outputs = node(id).outputs;
      const bool read = std::any_of(outputs.begin(), outputs.end(),
                                    [&](ValueId output) { return output.valid() && graph_.use_count(output) > 0; });
      if (read) continue;
      remove_node(id);
      for (const ValueId output : outputs) {
        if (output.valid()) remove_value(output);
      }
      ++removed;
      changed = true;
    }
  }
  remove_unused_initializers();
  return removed;
}

size_t GraphEdit::remove_unused_initializers() {
  const std::vector<ValueId> initializers = graph_.initializers_;
  size_t removed = 0;
  for (const ValueId id : initializers) {
    if (graph_.use_count(id) > 0) continue;
    remove_value(id);
    ++removed;
  }
  return removed;
}

namespace {

/// The values that graphs inside of `graph` define, at any depth.
void add_nested_values(const Graph& graph, UniqueNames& names) {
  for (const NodeId id : graph.order()) {
    for (const Graph* nested : nested_graphs(graph.node(id))) {
      for (size_t i = 0; i < nested->value_count(); ++i) {
        const ValueId value{static_cast<int32_t>(i)};
        if (nested->is_alive(value) && !nested->value(value).is_captured) names.add(nested->value(value).name);
      }
      add_nested_values(*nested, names);
    }
  }
}

size_t rename_nodes(Graph& graph) {
  UniqueNames all;
  std::vector<NodeId> late;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const NodeId id{static_cast<int32_t>(i)};
    if (!graph.is_alive(id) || graph.node(id).name.empty()) continue;
    if (!all.add(graph.node(id).name)) late.push_back(id);
  }
  GraphEdit edit(graph);
  for (const NodeId id : late) edit.node(id).name = all.take(graph.node(id).name);
  return late.size();
}

size_t rename_values(Graph& graph) {
  UniqueNames inner;
  add_nested_values(graph, inner);
  GraphEdit edit(graph);
  size_t changed = 0;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ValueId id{static_cast<int32_t>(i)};
    if (!graph.is_alive(id)) continue;
    const Value& value = graph.value(id);
    if (value.is_input || value.is_output || value.is_captured || !inner.contains(value.name)) continue;
    const std::string wanted = value.name;
    while (!edit.rename(id, inner.take(wanted))) {  // the graph itself may have the name, too
    }
    ++changed;
  }
  return changed;
}

}  // namespace

std::string UniqueNames::take(const std::string& wanted) {
  std::string name = wanted;
  for (int suffix = 1; !add(name); ++suffix) name = cat(wanted, "_", suffix);
  return name;
}

size_t make_names_unique(Graph& graph) {
  size_t changed = rename_nodes(graph) + rename_values(graph);
  GraphEdit edit(graph);
  for (const NodeId id : graph.order()) {
    for (Attribute& attribute : edit.node(id).attributes) {
      change_nested(attribute, [&](GraphPtr& nested) {
        Graph own = *nested;
        const size_t inside = make_names_unique(own);
        if (inside > 0) nested = std::make_shared<const Graph>(std::move(own));
        changed += inside;
      });
    }
  }
  return changed;
}

}  // namespace quarkq::ir
