// SPDX-License-Identifier: MIT
// GraphPatch: a proposed change. A rule reads a graph and returns one; only the rewrite driver applies it.
#pragma once

#include <string>
#include <vector>

#include "ir/edit.h"

namespace quarkq::ir {

/// A value inside a patch: one of the graph, or one that the patch makes.
struct PatchValue {
  ValueId existing;
  int made = -1;  ///< index among the patch's new values
  PatchValue() = default;
  PatchValue(ValueId value) : existing(value) {}  // NOLINT(google-explicit-constructor)
};

class GraphPatch {
 public:
  /// A new initializer. It gets its name when that is free after the change, else one with a suffix.
  PatchValue initializer(std::string name, Tensor data);
  /// A new value for a node's output.
  PatchValue value(std::string name, ValueType type = {});

  struct PatchNode {
    std::string op, domain, name;
    std::vector<PatchValue> inputs, outputs;
    std::vector<Attribute> attributes;
    std::vector<NodeId> stands_for = {};  ///< empty: all removed nodes
  };
  /// A new node, placed right before the first node the patch removes (else at the end).
  void node(PatchNode node) { nodes_.push_back(std::move(node)); }
  /// New nodes go to the end of the list instead.
  void place_at_end() { at_end_ = true; }
  /// Readers of `from` read `to` instead; a graph output keeps its name.
  void replace(ValueId from, PatchValue to) { replacements_.push_back({from, to}); }
  void remove(NodeId node) { removed_.push_back(node); }
  /// Inputs up to `index` that the node does not have are added, absent.
  void set_input(NodeId node, size_t index, PatchValue value) { inputs_.push_back({node, index, value}); }
  /// `node` writes `value`, which nothing writes any more once the removed nodes are gone. What it wrote before goes
  /// when nothing reads it.
  void set_output(NodeId node, size_t index, ValueId value) { outputs_.push_back({node, index, value}); }
  void set_attribute(NodeId node, std::string name, AttributeValue value) {
    attributes_.push_back({node, std::move(name), std::move(value)});
  }
  /// The value becomes an initializer, or has another content. Its producer is among the removed nodes, if it has one.
  void set_constant(ValueId value, Tensor data) { constants_.emplace_back(value, std::move(data)); }
  /// `heir` stands for what `node` stands for, too.
  void add_origins(NodeId heir, NodeId node) { heirs_.emplace_back(heir, node); }

  /// `value` takes the name once it is free (the name of something the patch removes).
  void rename(ValueId value, std::string name) { names_.push_back({value, std::move(name)}); }

  bool empty() const {
    return nodes_.empty() && replacements_.empty() && removed_.empty() && inputs_.empty() && outputs_.empty() &&
           attributes_.empty() && constants_.empty();
  }
  /// Applies the change. Values left without readers and producers are removed.
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
