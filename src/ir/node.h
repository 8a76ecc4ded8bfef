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

// Attributes of a node, converted to typed values on import. Kinds that quarkq never reads stay serialized
// AttributeProtos.

class Graph;

/// A serialized AttributeProto of a kind without a typed form (sparse tensors, type protos, lists of those).
struct OpaqueAttribute {
  std::string bytes;
};

using GraphPtr = std::shared_ptr<const Graph>;  ///< Nested graphs are values: they are replaced, never edited in place.

using AttributeValue =
    std::variant<int64_t, float, std::string, Tensor, GraphPtr, std::vector<int64_t>, std::vector<float>,
                 std::vector<std::string>, std::vector<Tensor>, std::vector<GraphPtr>, OpaqueAttribute>;

struct Attribute {
  std::string name;
  AttributeValue value;
  std::string reference;  ///< The ref_attr_name inside a model-local function; empty elsewhere.
  std::string extra;      ///< Serialized rest of the AttributeProto (doc_string, unknown fields).
};

/// A value of this graph that a nested graph of the node reads by name.
struct Capture {
  ValueId outer;     ///< Value of the graph that contains the node.
  std::string name;  ///< Name with which the nested graph was imported. Export renames it to the name of `outer`.
};

struct Node {
  // Defined in the .cpp file, so that it is compiled only once.
  Node();
  Node(const Node&);
  Node(Node&&) noexcept;
  Node& operator=(const Node&);
  Node& operator=(Node&&) noexcept;
  ~Node();

  NodeId id;
  std::string op;                ///< Operator type, for example "Conv".
  std::string domain;            ///< "" for ai.onnx
  std::string name;              ///< May be empty or shared with other nodes.
  std::vector<ValueId> inputs;   ///< An invalid id is an omitted optional input.
  std::vector<ValueId> outputs;  ///< An invalid id is an output that is not requested.
  std::vector<Attribute> attributes;
  std::vector<Capture> captures;
  std::vector<NodeId> origins;  ///< The nodes of the loaded model that this node replaces.
  std::string overload;         ///< Overload of a model-local function.
  std::string extra;            ///< Serialized rest of the NodeProto (doc_string, metadata, unknown fields).

  bool is(std::string_view type) const { return op == type && domain.empty(); }

  const Attribute* find(std::string_view attribute) const;
  int64_t int_or(std::string_view attribute, int64_t fallback) const;
  float float_or(std::string_view attribute, float fallback) const;
  std::string string_or(std::string_view attribute, std::string_view fallback) const;
  std::vector<int64_t> ints_or(std::string_view attribute, std::vector<int64_t> fallback) const;
  /// Returns the typed value, or null if the attribute is absent or has another type.
  template <typename T>
  const T* get(std::string_view attribute) const {
    const Attribute* found = find(attribute);
    return found == nullptr ? nullptr : std::get_if<T>(&found->value);
  }
  /// Adds or replaces an attribute. An existing attribute keeps its position.
  void set(std::string_view attribute, AttributeValue value);
  void erase(std::string_view attribute);

  /// Returns the id of input or output `i`, or an invalid id if it is omitted.
  ValueId input(size_t i) const { return i < inputs.size() ? inputs[i] : ValueId{}; }
  ValueId output(size_t i) const { return i < outputs.size() ? outputs[i] : ValueId{}; }
  /// Returns "node NAME (Op)" or, if the name is empty, "node `output_name` (Op)": the label of the node in messages.
  std::string label(std::string_view output_name = {}) const;
};

}  // namespace quarkq::ir
