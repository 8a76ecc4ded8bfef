// SPDX-License-Identifier: MIT
// The graph while the basic optimizer changes it: numbers of nodes, names ever used, the visiting order, and the basic
// changes of all its rules.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "config/settings.h"
#include "rewrite/driver.h"

namespace quarkq::rewrite::basic {

class Workspace;
/// A rule of the driver that takes the names for its proposals from the workspace.
using WorkspaceRule = std::function<Proposal(Workspace&, const ir::Node&)>;

class Workspace {
 public:
  Workspace(ir::Model& model, const config::Settings& settings);

  const ir::Graph& graph() const { return model_.graph; }
  const ir::Node& node(ir::NodeId id) const { return model_.graph.node(id); }
  ir::Model& model() { return model_; }
  const config::Settings& settings() const { return settings_; }
  int64_t opset() const { return model_.opset(); }

  /// Returns the visiting order: backwards from the node without consumers with the highest number, producers with high
  /// numbers first. Nodes are numbered as loaded; a new node gets the next number.
  std::vector<ir::NodeId> visiting_order() const;

  /// Returns the nodes by number.
  std::vector<ir::NodeId> numbered_order() const;

  /// Runs one sweep of the driver in the visiting order: all rules in turn at each node.
  Result<bool> sweep(std::span<const WorkspaceRule> rules);

  /// Releases the names of removed values. Names that were given out are never released.
  void begin_step();
  /// Returns `wanted`, or "<wanted>_token_<k>" if it was used before.
  std::string new_node_name(const std::string& wanted);
  std::string new_tensor_name(const std::string& wanted);

  // Changes of the graph for steps that are not rules.

  /// Adds a node named after its operator, and returns its output "<name>_out0". The node gets the origins of `origin`.
  ir::ValueId add_node(const std::string& op, std::vector<ir::ValueId> inputs, std::vector<ir::Attribute> attributes,
                       ir::NodeId origin, ir::ValueType type);
  /// Inserts a node (see add_node) with the origins of `node` between output `index` of `node` and its value. The new
  /// node writes the value; `node` writes a new value of `type` named like `node`.
  ir::NodeId add_after(ir::NodeId node, size_t index, const std::string& op, std::vector<ir::Attribute> attributes,
                       ir::ValueType type);
  /// Adds a node named `wanted` that takes over the outputs of `maker`.
  ir::NodeId add_named(const std::string& wanted, const std::string& op, std::vector<ir::ValueId> inputs,
                       ir::NodeId maker);
  /// Adds an unnamed node that writes `output`, replacing its previous producer.
  void add_unnamed(const std::string& op, std::vector<ir::ValueId> inputs, std::vector<ir::Attribute> attributes,
                   ir::NodeId origin, ir::ValueId output);
  ir::ValueId add_value(const std::string& name, ir::ValueType type) { return edit_.add_value(name, std::move(type)); }
  ir::ValueId add_constant(const std::string& wanted, ir::Tensor data);
  ir::ValueId add_shape_constant(const std::vector<int64_t>& numbers);  ///< The constant is int64 [n].

  void set_input(ir::NodeId node, size_t index, ir::ValueId value) { edit_.set_input(node, index, value); }
  void replace_uses(ir::ValueId from, ir::ValueId to) { edit_.replace_uses(from, to); }
  void set_attribute(ir::NodeId node, const std::string& name, ir::AttributeValue value) {
    edit_.node(node).set(name, std::move(value));
  }
  void set_constant(ir::ValueId value, ir::Tensor data) { edit_.set_constant(value, std::move(data)); }
  void append_input(ir::NodeId node, ir::ValueId value) { edit_.append_input(node, value); }
  /// Adds the origins of `node` to `heir`.
  void add_origins(ir::NodeId heir, ir::NodeId node);
  /// Redirects output `index` of `writer` to `value`. Other uses of both are unchanged; the old output loses its name.
  void take_output(ir::NodeId writer, size_t index, ir::ValueId value);
  /// Replaces the outputs of the node by initializers with these values, and removes the node.
  void become_constants(ir::NodeId node, const std::vector<ir::Tensor>& results);
  void remove_unused_initializers() { edit_.remove_unused_initializers(); }
  /// Removes the node and its outputs that are not read.
  void remove_node(ir::NodeId node);
  /// Removes `node` if its outputs are not read, and then repeats this for its producers.
  void remove_unread(ir::NodeId node);

  /// Returns the constant of a value that no caller can override, or null.
  const ir::Tensor* constant(ir::ValueId value) const;
  bool is_graph_output(ir::ValueId value) const { return value.valid() && graph().value(value).is_output; }
  /// The nodes that read `value`, each once, by number. `complete` is false if there are other readers.
  struct Consumers {
    std::vector<ir::NodeId> nodes;
    bool complete = true;
  };
  Consumers consumers(ir::ValueId value) const;
  /// Returns the only reader of `value`. Returns an invalid id if there are several readers or `value` is a graph
  /// output.
  ir::NodeId only_consumer(ir::ValueId value) const;

  /// Adds the missing default attributes of its schema to every node.
  void write_default_attributes();
  /// Applies the final order.
  void sort() { edit_.set_order(visiting_order()); }

 private:
  int64_t number(ir::NodeId id) const;
  void release_output(ir::ValueId value);
  std::string unused(std::unordered_set<std::string>& used, const std::string& wanted);

  ir::Model& model_;
  const config::Settings& settings_;
  ir::GraphEdit edit_;
  std::vector<int64_t> loaded_numbers_;
  std::unordered_set<std::string> node_names_, tensor_names_, given_tensor_names_;
  std::unordered_map<std::string, std::vector<ir::Attribute>> defaults_;  ///< Keyed by "domain::op".
  int64_t counter_ = 0;                                                   ///< One counter for all names of the model.
};

// The steps of the basic optimizer. Each returns whether it changed something.

Result<bool> apply_local_rules(Workspace& work);
Result<bool> merge_same_nodes(Workspace& work);
Result<bool> fold_known_nodes(Workspace& work);
Result<bool> fuse_matmul_add(Workspace& work);
Result<bool> fuse_halved_gelu(Workspace& work);
Result<bool> fuse_spelled_layer_norm(Workspace& work);
Result<bool> fuse_space_to_depth(Workspace& work);
Result<bool> fuse_reshapes(Workspace& work);
Result<bool> move_transposes(Workspace& work);
/// Runs last, once: replaces operators for which ONNX Runtime has no kernel by their definition.
Result<bool> inline_operators(Workspace& work);

}  // namespace quarkq::rewrite::basic
