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
  std::string name;  ///< Unique among the live values of a graph; never empty.
  ValueType type;
  NodeId producer;                 ///< Invalid for graph inputs, initializers and captured values.
  std::vector<Use> uses;           ///< In the order of creation; graph outputs are not included.
  std::optional<Tensor> constant;  ///< Set for initializers.
  bool is_input = false;           ///< Listed among the graph's inputs (also possible for an initializer).
  bool is_output = false;          ///< Listed among the graph's outputs.
  bool is_captured = false;        ///< In nested graphs: defined in an enclosing graph.
  bool has_info = false;           ///< The model contained a value_info for it.
  std::string extra;               ///< Serialized rest of the ValueInfoProto.
  std::string tensor_extra;        ///< Serialized rest of the TensorProto (doc_string, metadata, unknown fields).

  bool is_initializer() const { return constant.has_value(); }
};

class Graph {
 public:
  // Defined in the .cpp file, so that it is compiled only once.
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

  /// Returns the live nodes in list order.
  const std::vector<NodeId>& order() const { return order_; }
  /// Returns the live initializers in list order.
  const std::vector<ValueId>& initializers() const { return initializers_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }  ///< Includes inputs that are initializers.
  const std::vector<ValueId>& outputs() const { return outputs_; }
  /// Returns the inputs without an initializer, which a caller must feed.
  std::vector<ValueId> required_inputs() const;
  /// In nested graphs: returns the values defined in an enclosing graph, in order of first use.
  const std::vector<ValueId>& captured() const { return captured_; }

  /// Returns the live value with this name, or an invalid id.
  ValueId find(std::string_view name) const;
  /// Upper bounds of ids, including dead ones: sizes for side tables.
  size_t node_count() const { return nodes_.size(); }
  size_t value_count() const { return values_.size(); }

  /// Returns the node that computes `value`, or null.
  const Node* producer(ValueId value) const;
  /// Returns the initializer of `value`, or the tensor of its Constant node (value, value_float(s), value_int(s)), or
  /// null.
  const Tensor* constant(ValueId value) const;
  /// Moves large `data` to the graph's store on disk, which copies of the graph share. Returns `data` unchanged if
  /// there is no store.
  Tensor settled(Tensor data) const;
  /// Returns the number of uses of `value`, plus one if it is a graph output. Returns 0 for an invalid id.
  size_t use_count(ValueId value) const;
  /// Returns the only node input that reads `value`. Returns nullopt if there are other readers or captures, or if
  /// `value` is a graph output or an invalid id.
  std::optional<Use> sole_use(ValueId value) const;
  /// Returns "node NAME (Op)", the name of a node in messages.
  std::string label(NodeId id) const;

  std::string name;
  std::string extra;  ///< Serialized rest of the GraphProto (doc_string, quantization annotations, metadata, unknown
                      ///< fields).

 private:
  friend class GraphEdit;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<bool> node_alive_, value_alive_;
  std::vector<NodeId> order_;
  std::vector<ValueId> initializers_, inputs_, outputs_, captured_;
  std::unordered_map<std::string, ValueId> by_name_;
  std::shared_ptr<WeightStore> store_;
  size_t order_place_ = 0, initializer_place_ = 0;  ///< Positions of the last edits in the lists, where the next search
                                                    ///< begins.
};

/// A model: the main graph and the rest of the file.
struct Model {
  Graph graph;
  int64_t ir_version = 8;
  std::map<std::string, int64_t> opsets;  ///< Version per domain; "" is ai.onnx.
  std::vector<std::string> opset_order;   ///< Domains in file order.
  std::string producer_name, producer_version;
  std::string extra;  ///< Serialized rest of the ModelProto (metadata, doc_string, unknown fields).
  std::string path;   ///< Path of the loaded file; empty for a model created in memory.

  int64_t opset(const std::string& domain = "") const;  ///< Returns 0 if the domain is not imported.
  void set_opset(const std::string& domain, int64_t version);
};

}  // namespace quarkq::ir
