// SPDX-License-Identifier: MIT
// One operator call. Links (inputs, outputs, captures) are changed through ir::GraphEdit only.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/tensor.h"

namespace quarkq::ir {

/// Ids of nodes and values inside one graph: small integers of their own types, never reused.
struct ValueId {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const ValueId&) const = default;
};

struct NodeId {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const NodeId&) const = default;
};

// Attributes of a node, typed on import. Kinds that quarkq never reads are carried as serialized AttributeProto.

class Graph;

/// A serialized AttributeProto of a kind without a typed form (sparse tensors, type protos, lists of those).
struct OpaqueAttribute {
  std::string bytes;
};

using GraphPtr = std::shared_ptr<const Graph>;  ///< nested graphs are values: replaced, never edited in place

using AttributeValue =
    std::variant<int64_t, float, std::string, Tensor, GraphPtr, std::vector<int64_t>, std::vector<float>,
                 std::vector<std::string>, std::vector<Tensor>, std::vector<GraphPtr>, OpaqueAttribute>;

struct Attribute {
  std::string name;
  AttributeValue value;
  std::string reference;  ///< ref_attr_name inside a model-local function; empty elsewhere
  std::string extra;      ///< serialized rest of the AttributeProto (doc_string, unknown fields)
};

/// A value of this graph that a nested graph of the node reads by name.
struct Capture {
  ValueId outer;     ///< in the graph that holds the node
  std::string name;  ///< the name that the nested graph was imported with; export renames it to the outer value's name
};

struct Node {
  // Compiled once and not wherever one is copied or moved.
  Node();
  Node(const Node&);
  Node(Node&&) noexcept;
  Node& operator=(const Node&);
  Node& operator=(Node&&) noexcept;
  ~Node();

  NodeId id;
  std::string op;                ///< operator type, for example "Conv"
  std::string domain;            ///< "" for ai.onnx
  std::string name;              ///< may be empty or shared, as models have it
  std::vector<ValueId> inputs;   ///< an invalid id is an absent optional input
  std::vector<ValueId> outputs;  ///< an invalid id is an output that is not requested
  std::vector<Attribute> attributes;
  std::vector<Capture> captures;
  std::vector<NodeId> origins;  ///< nodes of the model as loaded that this one replaces
  std::string overload;         ///< of a model-local function
  std::string extra;            ///< serialized rest of the NodeProto (doc_string, metadata, unknown fields)

  bool is(std::string_view type) const { return op == type && domain.empty(); }

  const Attribute* find(std::string_view attribute) const;
  int64_t int_or(std::string_view attribute, int64_t fallback) const;
  float float_or(std::string_view attribute, float fallback) const;
  std::string string_or(std::string_view attribute, std::string_view fallback) const;
  std::vector<int64_t> ints_or(std::string_view attribute, std::vector<int64_t> fallback) const;
  /// The typed value, or null when the attribute is absent or of another type.
  template <typename T>
  const T* get(std::string_view attribute) const {
    const Attribute* found = find(attribute);
    return found == nullptr ? nullptr : std::get_if<T>(&found->value);
  }
  /// Sets or replaces; keeps the position of an attribute that exists.
  void set(std::string_view attribute, AttributeValue value);
  void erase(std::string_view attribute);

  /// Id of input / output `i`, invalid when absent.
  ValueId input(size_t i) const { return i < inputs.size() ? inputs[i] : ValueId{}; }
  ValueId output(size_t i) const { return i < outputs.size() ? outputs[i] : ValueId{}; }
  /// "node NAME (Op)" or "node <first output> (Op)": label of the node in messages. `output_name` is used when the name
  /// is empty.
  std::string label(std::string_view output_name = {}) const;
};

}  // namespace quarkq::ir
