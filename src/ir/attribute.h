// SPDX-License-Identifier: MIT
// Attributes of a node, typed on import. Kinds that quarkq never reads are carried as serialized AttributeProto.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/tensor.h"

namespace quarkq::ir {

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

}  // namespace quarkq::ir
