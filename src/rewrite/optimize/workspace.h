// SPDX-License-Identifier: MIT
// The graph while the basic optimizer changes it: numbers of nodes, names that were ever used, the visiting order, and
// the few changes of which all of its rules are made.
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
/// A rule of the driver that takes names from the workspace for what it proposes.
using WorkspaceRule = std::function<Proposal(Workspace&, const ir::Node&)>;

class Workspace {
 public:
  Workspace(ir::Model& model, const config::Settings& settings);

  const ir::Graph& graph() const { return model_.graph; }
  const ir::Node& node(ir::NodeId id) const { return model_.graph.node(id); }
  ir::Model& model() { return model_; }
  const config::Settings& settings() const { return settings_; }
  int64_t opset() const { return model_.opset(); }

  /// Nodes are numbered as loaded; a new one gets the next number. From the node without consumers that has the
  /// highest number backwards, producers with high numbers first.
  std::vector<ir::NodeId> visiting_order() const;

  /// Nodes by number.
  std::vector<ir::NodeId> numbered_order() const;

  /// One sweep of the driver in the visiting order: at each node all rules in turn.
  Result<bool> sweep(std::span<const WorkspaceRule> rules);

  /// Names of values that are gone are free again from here on; those ever given out are not.
  void begin_step();
  /// `wanted`, or "<wanted>_token_<k>" when that was used before.
  std::string new_node_name(const std::string& wanted);
  std::string new_tensor_name(const std::string& wanted);

  // What is not a rule yet changes the graph by these.

  /// A node named after its operator and its output "<name>_out0", which is returned. It stands for the nodes that
  /// `origin` stands for.
  ir::ValueId add_node(const std::string& op, std::vector<ir::ValueId> inputs, std::vector<ir::Attribute> attributes,
                       ir::NodeId origin, ir::ValueType type);
  /// Puts a node (see add_node), which stands for what `node` stands for, between output `index` of `node` and that
  /// value: the new node writes the value now, and `node` a new one of `type` named like `node`.
  ir::NodeId add_after(ir::NodeId node, size_t index, const std::string& op, std::vector<ir::Attribute> attributes,
                       ir::ValueType type);
  /// A node named `wanted` that takes the outputs of `maker` over.
  ir::NodeId add_named(const std::string& wanted, const std::string& op, std::vector<ir::ValueId> inputs,
                       ir::NodeId maker);
  /// A node without a name that writes `output`, whichever node wrote it before.
  void add_unnamed(const std::string& op, std::vector<ir::ValueId> inputs, std::vector<ir::Attribute> attributes,
                   ir::NodeId origin, ir::ValueId output);
  ir::ValueId add_value(const std::string& name, ir::ValueType type) { return edit_.add_value(name, std::move(type)); }
  ir::ValueId add_constant(const std::string& wanted, ir::Tensor data);
  ir::ValueId add_shape_constant(const std::vector<int64_t>& numbers);  ///< int64 [n]

  void set_input(ir::NodeId node, size_t index, ir::ValueId value) { edit_.set_input(node, index, value); }
  void replace_uses(ir::ValueId from, ir::ValueId to) { edit_.replace_uses(from, to); }
  void set_attribute(ir::NodeId node, const std::string& name, ir::AttributeValue value) {
    edit_.node(node).set(name, std::move(value));
  }
  void set_constant(ir::ValueId value, ir::Tensor data) { edit_.set_constant(value, std::move(data)); }
  void append_input(ir::NodeId node, ir::ValueId value) { edit_.append_input(node, value); }
  /// `heir` stands for the origins of `node`, too.
  void add_origins(ir::NodeId heir, ir::NodeId node);
  /// `writer` (whose output `index` then has no name of its own) writes `value` instead; both keep their other links.
  void take_output(ir::NodeId writer, size_t index, ir::ValueId value);
  /// The outputs of the node become initializers with these values; the node is removed.
  void become_constants(ir::NodeId node, const std::vector<ir::Tensor>& results);
  void remove_unused_initializers() { edit_.remove_unused_initializers(); }
  /// Removes the node and those of its outputs that nothing reads.
  void remove_node(ir::NodeId node);
  /// Removes `node` if nothing reads its outputs, and then the same for what it read.
  void remove_unread(ir::NodeId node);

  /// The constant that a value holds and no caller can override, else null.
  const ir::Tensor* constant(ir::ValueId value) const;
  bool is_graph_output(ir::ValueId value) const { return value.valid() && graph().value(value).is_output; }
  /// Reads of `value` by nodes, once per node, by number. `complete` is false when it is read in other ways, too.
  struct Consumers {
    std::vector<ir::NodeId> nodes;
    bool complete = true;
  };
  Consumers consumers(ir::ValueId value) const;
  /// The node alone reading `value`, which is no graph output; else invalid.
  ir::NodeId only_consumer(ir::ValueId value) const;

  /// Every node gets the default attributes of its schema that it lacks.
  void write_default_attributes();
  /// The final order.
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
  std::unordered_map<std::string, std::vector<ir::Attribute>> defaults_;  ///< by "domain::op"
  int64_t counter_ = 0;                                                   ///< one for all names of the model
};

// The steps of the basic optimizer. Each answers whether it changed something.

Result<bool> apply_local_rules(Workspace& work);
Result<bool> merge_same_nodes(Workspace& work);
Result<bool> fold_known_nodes(Workspace& work);
Result<bool> fuse_matmul_add(Workspace& work);
Result<bool> fuse_halved_gelu(Workspace& work);
Result<bool> fuse_spelled_layer_norm(Workspace& work);
Result<bool> fuse_space_to_depth(Workspace& work);
Result<bool> fuse_reshapes(Workspace& work);
Result<bool> move_transposes(Workspace& work);
/// Last, once: operators that ONNX Runtime has no kernel for become what they are defined by.
Result<bool> inline_operators(Workspace& work);

}  // namespace quarkq::rewrite::basic
