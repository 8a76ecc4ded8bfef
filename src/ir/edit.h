// SPDX-License-Identifier: MIT
// GraphEdit: the only functions that change a graph's links. Def-use chains are consistent after every call.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"

namespace quarkq::ir {

/// The parts of a new node. Outputs must be values without a producer.
struct NodeSpec {
  std::string op;
  std::string domain;
  std::string name;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<Attribute> attributes = {};
  std::vector<NodeId> origins = {};
};

class GraphEdit {
 public:
  explicit GraphEdit(Graph& graph) : graph_(graph) {}

  /// Adds a value. If `name` is taken, it gets a suffix "_1", "_2", ...; pass "" for a generated name.
  ValueId add_value(const std::string& name, ValueType type = {});
  ValueId add_initializer(const std::string& name, Tensor data);
  /// Appends the node to the order, or inserts it directly before `before`.
  NodeId add_node(NodeSpec spec, NodeId before = {});
  /// Removes the node. Its outputs remain as values without a producer until remove_value().
  void remove_node(NodeId id);
  /// REQUIRES: no producer, no uses, not a graph output.
  void remove_value(ValueId id);

  void set_input(NodeId node, size_t index, ValueId value);
  void set_output(NodeId node, size_t index, ValueId value);
  void append_input(NodeId node, ValueId value);
  void set_captures(NodeId node, std::vector<Capture> captures);
  /// Redirects every node input and capture from `from` to `to`. Graph outputs do not change.
  void replace_uses(ValueId from, ValueId to);
  /// Redirects uses like replace_uses(). If `from` is a graph output, `to` takes its name and position, and `from` gets
  /// another name.
  void replace_value(ValueId from, ValueId to);
  /// Returns false if another live value has the name.
  bool rename(ValueId value, const std::string& name);

  void set_constant(ValueId value, Tensor data);  ///< Makes the value an initializer, or replaces its data.
  /// Sets the store for large data of later set_constant() calls; null: memory.
  void set_weight_store(std::shared_ptr<WeightStore> store) { graph_.store_ = std::move(store); }
  void clear_constant(ValueId value);
  void set_type(ValueId value, ValueType type) { mutable_value(value).type = std::move(type); }
  void add_graph_input(ValueId value);
  void remove_graph_input(ValueId value);
  void add_graph_output(ValueId value);
  void set_graph_outputs(const std::vector<ValueId>& values);  ///< Replaces all graph outputs.
  void mark_captured(ValueId value);
  /// REQUIRES: no uses, not a graph output.
  void unmark_captured(ValueId value);

  /// Returns the node, for changes that do not affect links: attributes, name, origins, extra.
  Node& node(NodeId id) { return graph_.nodes_[static_cast<size_t>(id.index)]; }
  /// Returns the value, for changes that do not affect links: type, extra, has_info.
  Value& mutable_value(ValueId id) { return graph_.values_[static_cast<size_t>(id.index)]; }

  /// REQUIRES: a permutation of order().
  void set_order(std::vector<NodeId> order);
  /// Removes nodes whose outputs are all unread, then unread initializers, until nothing changes. Returns the number of
  /// removed nodes.
  size_t remove_dead();
  /// Removes unread initializers, also among the graph inputs.
  size_t remove_unused_initializers();

 private:
  void drop_use(ValueId value, const Use& use);
  std::string unique_name(const std::string& wanted) const;
  Graph& graph_;
};

// Unique names. A derived name, such as "t_QuantizeLinear" for a tensor t, may already be used by the model, by nodes
// with the same name, or by a nested graph, which sees the values around it.

/// A growing set of names.
class UniqueNames {
 public:
  /// Marks the name as taken. Returns false if it was already taken.
  bool add(const std::string& name) { return taken_.insert(name).second; }
  bool contains(const std::string& name) const { return taken_.contains(name); }
  /// Returns `wanted` if it is free, otherwise the first free name of "wanted_1", "wanted_2", .... Marks it as taken.
  std::string take(const std::string& wanted);

 private:
  std::unordered_set<std::string> taken_;
};

/// Renames nodes and values until no two nodes of a graph share a name, and no inner value has a name that a nested
/// graph gives to another value. The older item (smaller id; values of nested graphs) keeps its name, so names of the
/// user are preserved. Unnamed nodes stay unnamed; names of inputs and outputs never change. Processes nested graphs as
/// well. Returns the number of changed names.
size_t make_names_unique(Graph& graph);

}  // namespace quarkq::ir
