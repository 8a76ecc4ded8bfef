// SPDX-License-Identifier: MIT
// The onnx library's own algorithms with their exceptions turned into Status. Private to src/onnx_io.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

/// What shape inference does beyond types and shapes of operators.
enum class Inference {
  kFollowsValues,  ///< contents of small integer tensors, too
  kPlain,          ///< nothing
  kStrict,         ///< checks types; the first node that does not fit is an error
};

/// Shape inference in place.
Status library_infer(onnx::ModelProto& model, Inference inference);

/// The library's checker of the graph, with guarded_schemas(). Inputs and outputs may lack a shape. `model` is the same
/// afterwards.
Status library_check(onnx::ModelProto& model);

/// The library's opset converter for ai.onnx.
Result<onnx::ModelProto> library_convert(const onnx::ModelProto& model, int64_t target);

/// Replaces calls of model-local functions by their bodies. Functions with other opset imports than the model's stay.
Status library_inline_functions(onnx::ModelProto& model);

/// True if the library defines operator `op` of ai.onnx in opset `version`.
bool has_operator(const std::string& op, int64_t version);

/// Removes attributes that opset `to` does not know and whose value is their default in opset `from`.
void drop_idle_attributes(onnx::NodeProto& node, int64_t from, int64_t to);

/// True if opset `to` of the domain of `node` defines the operator so that the node means there what it means in opset
/// `from`: its attributes and number of inputs and outputs are allowed, and no default differs. Also true if the
/// library does not know the operator.
bool means_the_same(const onnx::NodeProto& node, int64_t from, int64_t to);

/// Replaces the only node of the graph by the body that its schema defines for inputs of these types, one per node
/// input (not set where one is absent). False when it defines none.
Result<bool> library_inline_only_node(onnx::ModelProto& model, const std::vector<onnx::TypeProto>& input_types);

/// The library's text syntax, both ways.
Result<onnx::ModelProto> library_parse(const std::string& text);
std::string library_print(const onnx::ModelProto& model);

// The model as the onnx library gets to see it: without large weights, which stand among the graph inputs instead, with
// their type. Private to src/onnx_io.

/// Tensors up to this size stay in skeletons: shapes, axes, limits and scales are far smaller.
constexpr int64_t kSkeletonBytes = 4096;

struct Skeleton {
  onnx::ModelProto proto;
  std::vector<ir::ValueId> left_out;       ///< initializers that are inputs without data here
  std::vector<ir::NodeId> left_out_nodes;  ///< Constant nodes whose output is an input here
};

/// Skeleton of `model`. Rests of nodes and values are left out, those of model and graph (functions, sparse
/// initializers) are kept.
Skeleton make_skeleton(const ir::Model& model);

}  // namespace quarkq::onnx_io
