// SPDX-License-Identifier: MIT
// The onnx library's algorithms, with exceptions converted to Status. Private to src/onnx_io.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

/// Extent of shape inference.
enum class Inference {
  kFollowsValues,  ///< Also follows the contents of small integer tensors.
  kPlain,          ///< Only types and shapes of operators.
  kStrict,         ///< Also checks types; the first inconsistent node is an error.
};

/// Runs shape inference in place.
Status library_infer(onnx::ModelProto& model, Inference inference);

/// Runs the library's checker on the graph, with guarded_schemas(). Inputs and outputs may have no shape. `model` is
/// unchanged afterwards.
Status library_check(onnx::ModelProto& model);

/// Runs the library's opset converter for ai.onnx.
Result<onnx::ModelProto> library_convert(const onnx::ModelProto& model, int64_t target);

/// Replaces calls of model-local functions by their bodies. Functions with other opset imports than the model are kept.
Status library_inline_functions(onnx::ModelProto& model);

/// Returns whether the library defines operator `op` of ai.onnx in opset `version`.
bool has_operator(const std::string& op, int64_t version);

/// Removes attributes that opset `to` does not define and whose value is the default in opset `from`.
void drop_idle_attributes(onnx::NodeProto& node, int64_t from, int64_t to);

/// Returns whether opset `to` defines the operator of `node` with the same meaning as opset `from`: its attributes and
/// number of inputs and outputs are allowed, and no default differs. Also true if the library does not know the
/// operator.
bool means_the_same(const onnx::NodeProto& node, int64_t from, int64_t to);

/// Returns why operator and opset `opset` of ai.onnx do not accept `node`: the operator is not defined or deprecated,
/// has no such attribute, or other numbers of inputs or outputs. Returns an empty string if it accepts the node.
std::string misfit(const onnx::NodeProto& node, int64_t opset);

/// Replaces the only node of the graph by the body that its schema defines for inputs of these types, one per node
/// input (not set if omitted). Returns false if the schema has no body.
Result<bool> library_inline_only_node(onnx::ModelProto& model, const std::vector<onnx::TypeProto>& input_types);

/// Parse and print the library's text syntax.
Result<onnx::ModelProto> library_parse(const std::string& text);
std::string library_print(const onnx::ModelProto& model);

// The model in the form passed to the onnx library: large weights are replaced by graph inputs with their type. Private
// to src/onnx_io.

/// Tensors up to this size stay in skeletons. Shapes, axes, limits and scales are much smaller.
constexpr int64_t kSkeletonBytes = 4096;

struct Skeleton {
  onnx::ModelProto proto;
  std::vector<ir::ValueId> left_out;       ///< Initializers that are inputs without data here.
  std::vector<ir::NodeId> left_out_nodes;  ///< Constant nodes whose output is an input here.
};

/// Returns the skeleton of `model`. Rests of nodes and values are omitted; rests of model and graph (functions, sparse
/// initializers) are kept.
Skeleton make_skeleton(const ir::Model& model);

}  // namespace quarkq::onnx_io
