// SPDX-License-Identifier: MIT
// Schemas of the custom operators that quarkq writes, for the library's inference and checker. Private to src/onnx_io.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/node.h"
#include "ir/tensor.h"
#include "numeric/element_type.h"

namespace quarkq::onnx_io {

/// Registers the schemas once. Call it before any inference, check or conversion. Thread-safe.
void register_custom_schemas();

/// Number of inputs and outputs that the schema of an operator allows.
struct Arity {
  int64_t min_inputs = 0, max_inputs = 0;
  int64_t min_outputs = 0, max_outputs = 0;
};

/// Returns nullopt for operators that the library does not know.
std::optional<Arity> arity_of(const std::string& op, const std::string& domain, int64_t opset);

/// An input or output of a node.
struct Place {
  bool is_input = true;
  size_t index = 0;
};

/// Returns whether the operator accepts a tensor of `type` at the place. Returns false for unknown operators and for
/// positions past the last input or output.
bool takes_type(const std::string& op, int64_t opset, Place place, ElementType type);

/// Returns whether output `index` has its own type, selected by attribute stash_type: mean and deviation of
/// LayerNormalization. Returns false for operators that the library does not know.
bool has_stash_type(const std::string& op, int64_t opset, size_t index);

/// Returns the attributes with a default, by name; empty for operators that the library does not know.
std::vector<ir::Attribute> default_attributes(const std::string& op, const std::string& domain, int64_t opset);

// Bodies of operators that ONNX defines by other operators (schema functions), for operators without a kernel.

/// Returns the body of `node` of `graph` for inputs with the types and shapes of `inputs`: one entry per node input
/// that is not omitted, then one per capture. The body's graph inputs have the same order; its outputs are the node's
/// outputs that are not omitted. Returns null if the operator has no body. Fails with kUnsupported if the library
/// cannot build the body for such inputs.
Result<std::shared_ptr<const ir::Model>> function_body(const ir::Graph& graph, ir::NodeId node,
                                                       const std::map<std::string, int64_t>& opsets,
                                                       const std::vector<const ir::Operand*>& inputs);

}  // namespace quarkq::onnx_io
