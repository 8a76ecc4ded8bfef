// SPDX-License-Identifier: MIT
// GraphPatch: a proposed change. A rule reads a graph and returns one; only the rewrite driver applies it.
#pragma once

#include <string>
#include <vector>

#include "ir/edit.h"

namespace quarkq::ir {

/// A value inside a patch: a value of the graph, or a new value of the patch.
struct PatchValue {
  ValueId existing;
  int made = -1;  ///< Index among the patch's new values.
  PatchValue() = default;
  PatchValue(ValueId value) : existing(value) {}  // NOLINT(google-explicit-constructor)
};

class GraphPatch {
 public:
  /// Adds an initializer. It gets `name` if that is free after the change, otherwise the name with a suffix.
  PatchValue initializer(std::string name, Tensor data);
  /// Adds a value for a node's output.
  PatchValue value(std::string name, ValueType type = {});

  struct PatchNode {
    std::string op, domain, name;
    std::vector<PatchValue> inputs, outputs;
    std::vector<Attribute> attributes;
    std::vector<NodeId> stands_for = {};  ///< Replaced nodes; empty: all removed nodes.
  };
  /// Adds a node directly before the first removed node, or at the end if no node is removed.
  void node(PatchNode node) { nodes_.push_back(std::move(node)); }
  /// Places new nodes at the end of the list instead.
  void place_at_end() { at_end_ = true; }
  /// Redirects readers from `from` to `to`. A graph output keeps its name.
  void replace(ValueId from, PatchValue to) { replacements_.push_back({from, to}); }
  void remove(NodeId node) { removed_.push_back(node); }
  /// Missing inputs before `index` are added as omitted inputs.
  void set_input(NodeId node, size_t index, PatchValue value) { inputs_.push_back({node, index, value}); }
  /// Makes `node` write `value`, which must have no producer after the removals. The previous output is removed if it
  /// has no readers.
  void set_output(NodeId node, size_t index, ValueId value) { outputs_.push_back({node, index, value}); }
  void set_attribute(NodeId node, std::string name, AttributeValue value) {
    attributes_.push_back({node, std::move(name), std::move(value)});
  }
  /// Makes the value an initializer, or replaces its data. If it has a producer, the patch must remove that node.
  void set_constant(ValueId value, Tensor data) { constants_.emplace_back(value, std::move(data)); }
  /// Adds the origins of `node` to `heir`.
  void add_origins(NodeId heir, NodeId node) { heirs_.emplace_back(heir, node); }

  /// Renames `value` after the removals, so that it can take the name of a removed item.
  void rename(ValueId value, std::string name) { names_.push_back({value, std::move(name)}); }

  bool empty() const {
    return nodes_.empty() && replacements_.empty() && removed_.empty() && inputs_.empty() && outputs_.empty() &&
           attributes_.empty() && constants_.empty();
  }
  /// Applies the change. Removes values without readers and producers.
  void apply(Graph& graph) const;

 private:
  struct NewValue {
    std::string name;
    ValueType type;
    std::optional<Tensor> data;
  };
  struct Replacement {
    ValueId from;
    PatchValue to;
  };
  struct NewInput {
    NodeId node;
    size_t index;
    PatchValue value;
  };
  struct NewOutput {
    NodeId node;
    size_t index;
    ValueId value;
  };
  struct NewAttribute {
    NodeId node;
    std::string name;
    AttributeValue value;
  };
  class Application;
  std::vector<NewValue> values_;
  std::vector<PatchNode> nodes_;
  std::vector<Replacement> replacements_;
  std::vector<NodeId> removed_;
  std::vector<NewInput> inputs_;
  std::vector<NewOutput> outputs_;
  std::vector<NewAttribute> attributes_;
  std::vector<std::pair<ValueId, Tensor>> constants_;
  std::vector<std::pair<NodeId, NodeId>> heirs_;
  std::vector<std::pair<ValueId, std::string>> names_;
  bool at_end_ = false;
};

}  // namespace quarkq::ir
