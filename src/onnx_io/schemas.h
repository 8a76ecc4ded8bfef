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

/// Registers them once; call before any inference, check or conversion. Thread-safe.
void register_custom_schemas();

/// How many inputs and outputs an operator may have, as its schema says.
struct Arity {
  int64_t min_inputs = 0, max_inputs = 0;
  int64_t min_outputs = 0, max_outputs = 0;
};

/// Nothing for operators that the library does not know.
std::optional<Arity> arity_of(const std::string& op, const std::string& domain, int64_t opset);

// Which element types an operator's inputs and outputs may have, as its schema says.

/// An input or output of a node.
struct Place {
  bool is_input = true;
  size_t index = 0;
};

/// Whether a tensor of `type` may be there. False for operators that the library does not know, and beyond the last
/// one.
bool takes_type(const std::string& op, int64_t opset, Place place, ElementType type);

/// True if output `index` has a type of its own, which attribute stash_type chooses: mean and deviation of
/// LayerNormalization. False for operators that the library does not know.
bool has_stash_type(const std::string& op, int64_t opset, size_t index);

// Default values of attributes, as the operators' schemas state them.

/// Attributes with a default, by name; none for operators that the library does not know.
std::vector<ir::Attribute> default_attributes(const std::string& op, const std::string& domain, int64_t opset);

// Bodies of operators that ONNX defines through others (schema functions), for operators without a kernel.

/// The body of `node` of `graph` for inputs of the types and shapes of `inputs`, which has an entry per node input that
/// is not absent and then one per capture. The body's graph inputs are those in the same order; its outputs are the
/// node's outputs that are not absent. Null when the operator has no body.
/// kUnsupported: the library cannot build it for such inputs.
Result<std::shared_ptr<const ir::Model>> function_body(const ir::Graph& graph, ir::NodeId node,
                                                       const std::map<std::string, int64_t>& opsets,
                                                       const std::vector<const ir::Operand*>& inputs);

}  // namespace quarkq::onnx_io
