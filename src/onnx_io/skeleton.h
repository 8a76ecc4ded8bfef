// SPDX-License-Identifier: MIT
// The model as the onnx library gets to see it: without large weights, which stand among the graph inputs instead, with
// their type. Private to src/onnx_io.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

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
