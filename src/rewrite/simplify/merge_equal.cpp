// SPDX-License-Identifier: MIT
// Merges duplicates: nodes that compute the same, and small initializers with equal content.
#include <algorithm>
#include <map>

#include "rewrite/computed_nodes.h"
#include "rewrite/simplify/simplify.h"

namespace quarkq::rewrite::simplify {
namespace {

constexpr int64_t kTiedElements = 1000;  ///< initializers with fewer elements than this are tied

bool same_value(const ir::AttributeValue& a, const ir::AttributeValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* tensor = std::get_if<ir::Tensor>(&a)) return tensor->same_as(std::get<ir::Tensor>(b));
  auto equal = [&]<typename T>(const T* left) { return left != nullptr && *left == std::get<T>(b); };
  return equal(std::get_if<int64_t>(&a)) || equal(std::get_if<float>(&a)) || equal(std::get_if<std::string>(&a)) ||
         equal(std::get_if<std::vector<int64_t>>(&a)) || equal(std::get_if<std::vector<float>>(&a)) ||
         equal(std::get_if<std::vector<std::string>>(&a));
}

bool same_attributes(const ir::Node& a, const ir::Node& b) {
  return a.attributes.size() == b.attributes.size() &&
         std::all_of(a.attributes.begin(), a.attributes.end(), [&](const ir::Attribute& attribute) {
           const ir::Attribute* other = b.find(attribute.name);
           return other != nullptr && same_value(attribute.value, other->value);
         });
}

bool same_inputs(const Scope& scope, const ir::Node& a, const ir::Node& b) {
  if (a.inputs.size() != b.inputs.size()) return false;
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    if (a.inputs[i] == b.inputs[i]) continue;
    const ir::Tensor *x = scope.constant(a.inputs[i]), *y = scope.constant(b.inputs[i]);
    if (x == nullptr || y == nullptr || !x->same_as(*y)) return false;
  }
  return true;
}

bool makes_graph_output(const ir::Graph& graph, const ir::Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ir::ValueId id) { return id.valid() && graph.value(id).is_output; });
}

/// Operator and computed inputs: what equal nodes have in common at least. Empty for nodes that are never merged.
std::string key_of(const Scope& scope, const ir::Node& node) {
  if (!node.captures.empty() || is_random(node) || node.op == "Dropout") return {};  // the latter draws its mask
  std::string key = cat(node.domain, "::", node.op, "/", node.outputs.size());
  bool computed = false;
  for (const ir::ValueId input : node.inputs) {
    const bool known = scope.constant(input) != nullptr;
    computed = computed || (input.valid() && !known);
    key += known ? std::string(",c") : cat(",", input.index);
  }
  return computed ? key : std::string();
}

void merge(ir::Graph& graph, ir::NodeId kept, ir::NodeId dropped) {
  ir::GraphEdit edit(graph);
  const std::vector<ir::ValueId> from = graph.node(dropped).outputs, to = graph.node(kept).outputs;
  std::vector<ir::NodeId> origins = graph.node(dropped).origins;
  edit.remove_node(dropped);
  for (size_t i = 0; i < from.size(); ++i) {
    if (!from[i].valid()) continue;
    if (to[i].valid()) edit.replace_uses(from[i], to[i]);
    if (graph.use_count(from[i]) == 0) edit.remove_value(from[i]);
  }
  std::vector<ir::NodeId>& all = edit.node(kept).origins;
  all.insert(all.end(), origins.begin(), origins.end());
}

/// Outputs that the dropped node has and that have readers must be there in the kept one, too.
bool covers_outputs(const ir::Graph& graph, const ir::Node& kept, const ir::Node& dropped) {
  for (size_t i = 0; i < dropped.outputs.size(); ++i) {
    if (graph.use_count(dropped.outputs[i]) > 0 && !kept.output(i).valid()) return false;
  }
  return true;
}

/// The first of several equal ones survives; those that make graph outputs come first, and none of them is dropped.
void merge_group(Scope& scope, std::vector<ir::NodeId>& group) {
  std::stable_partition(group.begin(), group.end(),
                        [&](ir::NodeId id) { return makes_graph_output(scope.graph, scope.graph.node(id)); });
  for (size_t i = 0; i < group.size(); ++i) {
    if (!scope.graph.is_alive(group[i])) continue;
    for (size_t k = i + 1; k < group.size(); ++k) {
      if (!scope.graph.is_alive(group[k])) continue;
      const ir::Node &kept = scope.graph.node(group[i]), &other = scope.graph.node(group[k]);
      if (makes_graph_output(scope.graph, other) || !same_attributes(kept, other) || !same_inputs(scope, kept, other))
        continue;
      if (covers_outputs(scope.graph, kept, other)) merge(scope.graph, group[i], group[k]);
    }
  }
}

}  // namespace

Status merge_equal_nodes(Scope& scope) {
  std::map<std::string, size_t> place;
  std::vector<std::vector<ir::NodeId>> groups;  // in the order of their first nodes
  for (const ir::NodeId id : scope.graph.order()) {
    const std::string key = key_of(scope, scope.graph.node(id));
    if (key.empty()) continue;
    const auto [found, is_new] = place.emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(id);
  }
  for (std::vector<ir::NodeId>& group : groups) merge_group(scope, group);
  return Status();
}

Status merge_equal_constants(Scope& scope) {
  std::map<std::string, ir::ValueId> first_of;  // Keyed by type, dims and bytes.
  std::vector<bool> visited(scope.graph.value_count(), false);
  ir::GraphEdit edit(scope.graph);
  for (const ir::NodeId id : scope.graph.order()) {
    const std::vector<ir::ValueId> inputs = scope.graph.node(id).inputs;
    for (const ir::ValueId input : inputs) {
      if (!input.valid() || visited[static_cast<size_t>(input.index)]) continue;
      visited[static_cast<size_t>(input.index)] = true;
      const ir::Value& value = scope.graph.value(input);
      if (!value.is_initializer() || value.is_input || value.is_output || value.constant->size() >= kTiedElements)
        continue;
      if (value.constant->type() == ElementType::kString) continue;
      const ir::Tensor& tensor = *value.constant;
      std::string content = cat(static_cast<int>(tensor.type()), "[", join(tensor.dims(), ","), "]");
      content.append(reinterpret_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.bytes()));
      const auto [first, is_new] = first_of.emplace(std::move(content), input);
      if (!is_new) edit.replace_uses(input, first->second);
    }
  }
  edit.remove_unused_initializers();
  return Status();
}

}  // namespace quarkq::rewrite::simplify
