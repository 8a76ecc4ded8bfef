// SPDX-License-Identifier: MIT
#include "ir/unique_names.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "ir/edit.h"
#include "ir/search.h"

namespace quarkq::ir {
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
