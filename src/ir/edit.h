// SPDX-License-Identifier: MIT
// GraphEdit: the only functions that change a graph's links. Every call leaves def-use consistent.
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

  /// A new value. `name` is made unique by a suffix "_1", "_2", ... when taken; pass "" for a generated one.
  ValueId add_value(const std::string& name, ValueType type = {});
  ValueId add_initializer(const std::string& name, Tensor data);
  /// Appends to the order, or puts the node right before `before`.
  NodeId add_node(NodeSpec spec, NodeId before = {});
  /// Removes the node; its outputs stay as values without a producer until remove_value().
  void remove_node(NodeId id);
  /// REQUIRES: no producer, no uses, not a graph output.
  void remove_value(ValueId id);

  void set_input(NodeId node, size_t index, ValueId value);
  void set_output(NodeId node, size_t index, ValueId value);
  void append_input(NodeId node, ValueId value);
  void set_captures(NodeId node, std::vector<Capture> captures);
  /// Every node input and capture reading `from` reads `to` instead. Graph outputs stay.
  void replace_uses(ValueId from, ValueId to);
  /// Uses as replace_uses(); when `from` is a graph output, `to` takes its name and place, and `from` another name.
  void replace_value(ValueId from, ValueId to);
  /// Fails (returns false) when another live value has the name.
  bool rename(ValueId value, const std::string& name);

  void set_constant(ValueId value, Tensor data);  ///< makes the value an initializer, or replaces its data
  /// Where set_constant() keeps large data from now on; null: in memory.
  void set_weight_store(std::shared_ptr<WeightStore> store) { graph_.store_ = std::move(store); }
  void clear_constant(ValueId value);
  void set_type(ValueId value, ValueType type) { mutable_value(value).type = std::move(type); }
  void add_graph_input(ValueId value);
  void remove_graph_input(ValueId value);
  void add_graph_output(ValueId value);
  void set_graph_outputs(const std::vector<ValueId>& values);  ///< in the place of all there are
  void mark_captured(ValueId value);
  /// REQUIRES: no uses, not a graph output.
  void unmark_captured(ValueId value);

  /// The node, for changes that touch no links: attributes, name, origins, extra.
  Node& node(NodeId id) { return graph_.nodes_[static_cast<size_t>(id.index)]; }
  /// The value, for changes that touch no links: type, extra, has_info.
  Value& mutable_value(ValueId id) { return graph_.values_[static_cast<size_t>(id.index)]; }

  /// REQUIRES: a permutation of order().
  void set_order(std::vector<NodeId> order);
  /// Removes nodes none of whose outputs is read, then initializers nothing reads, until nothing changes. Returns nodes
  /// removed.
  size_t remove_dead();
  /// Removes initializers that nothing reads (those among the graph inputs too).
  size_t remove_unused_initializers();

 private:
  void drop_use(ValueId value, const Use& use);
  std::string unique_name(const std::string& wanted) const;
  Graph& graph_;
};

// Names that are made from other names, such as "t_QuantizeLinear" of a tensor t, may be taken already: by a model that
// holds such a name, by nodes that share one, or by a nested graph, which sees the values around it.

/// A set of names to which new ones are added.
class UniqueNames {
 public:
  /// Marks the name as taken; false when it was already.
  bool add(const std::string& name) { return taken_.insert(name).second; }
  bool contains(const std::string& name) const { return taken_.contains(name); }
  /// `wanted` when it is free, else the first free one of "wanted_1", "wanted_2", ...; taken from then on.
  std::string take(const std::string& wanted);

 private:
  std::unordered_set<std::string> taken_;
};

/// No two nodes of a graph share a name, and no inner value has one that a graph nested in it gives to another value.
/// What is older (a smaller id; values of nested graphs) keeps its name, so users' names stay and those made later give
/// way. Nodes without a name stay without; names of inputs and outputs never change. Nested graphs are treated alike.
/// Returns how many names changed.
size_t make_names_unique(Graph& graph);

}  // namespace quarkq::ir
