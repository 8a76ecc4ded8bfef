// SPDX-License-Identifier: MIT
// Graph: nodes and values with def-use chains in both directions. It is read through this header and changed through
// ir/edit.h, so that links always agree. Copying copies structure, never weights (ir::Tensor shares buffers).
// Node order is data: marks, sweeps and creation order depend on it (ref:writing#node-order); only ir/traversal.h
// reorders.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/node.h"
#include "ir/shape.h"
#include "ir/tensor.h"

namespace quarkq::ir {

class WeightStore;

/// One read of a value: input `input` of `node`, or its capture number `input` when `is_capture`.
struct Use {
  NodeId node;
  int32_t input = 0;
  bool is_capture = false;
  bool operator==(const Use&) const = default;
};

struct Value {
  ValueId id;
  std::string name;  ///< unique among the live values of a graph; never empty
  ValueType type;
  NodeId producer;                 ///< invalid for graph inputs, initializers and captured values
  std::vector<Use> uses;           ///< in the order they were made; graph outputs are not among them
  std::optional<Tensor> constant;  ///< set for initializers
  bool is_input = false;           ///< listed among the graph's inputs (an initializer may be, too)
  bool is_output = false;          ///< listed among the graph's outputs
  bool is_captured = false;        ///< nested graphs: defined in an enclosing graph
  bool has_info = false;           ///< the model stored a value_info for it
  std::string extra;               ///< serialized rest of the ValueInfoProto
  std::string tensor_extra;        ///< serialized rest of the TensorProto (doc_string, metadata, unknown fields)

  bool is_initializer() const { return constant.has_value(); }
};

class Graph {
 public:
  // Compiled once and not wherever one is copied or moved.
  Graph();
  Graph(const Graph&);
  Graph(Graph&&) noexcept;
  Graph& operator=(const Graph&);
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id.index)]; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id.index)]; }
  bool is_alive(NodeId id) const { return node_alive_[static_cast<size_t>(id.index)]; }
  bool is_alive(ValueId id) const { return value_alive_[static_cast<size_t>(id.index)]; }

  /// Live nodes in list order.
  const std::vector<NodeId>& order() const { return order_; }
  /// Live initializers in list order.
  const std::vector<ValueId>& initializers() const { return initializers_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }  ///< initializers among them included
  const std::vector<ValueId>& outputs() const { return outputs_; }
  /// Inputs that a caller must feed: those without an initializer.
  std::vector<ValueId> required_inputs() const;
  /// Nested graphs: values defined in an enclosing graph, in first-seen order.
  const std::vector<ValueId>& captured() const { return captured_; }

  /// The live value called `name`, or an invalid id.
  ValueId find(std::string_view name) const;
  /// Ids run from 0 to these (dead ones included): sizes for side tables.
  size_t node_count() const { return nodes_.size(); }
  size_t value_count() const { return values_.size(); }

  /// The node that makes `value`, or null.
  const Node* producer(ValueId value) const;
  /// The constant that `value` holds: its initializer, or what its Constant node holds (value, value_float(s),
  /// value_int(s)).
  const Tensor* constant(ValueId value) const;
  /// `data` where this graph keeps its large constants: on disk when there is a store, which copies of the graph share.
  Tensor settled(Tensor data) const;
  /// Reads of `value`: uses plus one for a graph output. 0 for an id that is not valid.
  size_t use_count(ValueId value) const;
  /// Returns the only node input that reads `value`. Returns nullopt if there are other readers or captures, or if
  /// `value` is a graph output or an invalid id.
  std::optional<Use> sole_use(ValueId value) const;
  /// "node NAME (Op)": name of a node in messages.
  std::string label(NodeId id) const;

  std::string name;
  std::string extra;  ///< serialized rest of the GraphProto (doc_string, quantization annotations, metadata, unknown)

 private:
  friend class GraphEdit;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<bool> node_alive_, value_alive_;
  std::vector<NodeId> order_;
  std::vector<ValueId> initializers_, inputs_, outputs_, captured_;
  std::unordered_map<std::string, ValueId> by_name_;
  std::shared_ptr<WeightStore> store_;
  size_t order_place_ = 0, initializer_place_ = 0;  ///< of the last edit in the list: where the next one looks first
};

/// A model: the main graph and the rest of the file.
struct Model {
  Graph graph;
  int64_t ir_version = 8;
  std::map<std::string, int64_t> opsets;  ///< domain ("" for ai.onnx) -> version
  std::vector<std::string> opset_order;   ///< domains in file order
  std::string producer_name, producer_version;
  std::string extra;  ///< serialized rest of the ModelProto (metadata, doc, unknown fields)
  std::string path;   ///< where it was loaded from; "" when made in memory

  int64_t opset(const std::string& domain = "") const;  ///< 0 when the domain is not imported
  void set_opset(const std::string& domain, int64_t version);
};

}  // namespace quarkq::ir
