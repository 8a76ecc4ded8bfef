// SPDX-License-Identifier: MIT
// The tail of a network: what detectors do after their last layers, decoding of boxes and choice of the best
// (ref:targets).
#pragma once

#include <set>
#include <vector>

#include "ir/graph.h"

namespace quarkq::ir {

struct Tail {
  std::set<NodeId> nodes;
  std::vector<ValueId> inputs;  ///< not constant, made before the tail and read in it, in the order of the readers
};

/// Conv, ConvTranspose, Gemm, MatMul and recurrent operators of ai.onnx.
bool has_layer_op(const Node& node);

/// The nodes from which no layer is reached any more. Layers are those of has_layer_op(), but for a Conv to one channel
/// that only weighs bins (distribution focal loss). Activations that only the layer before them feeds belong to the
/// layer. Empty where nothing is decoded, that is without Concat, Split, Slice, Gather, TopK, NonMaxSuppression,
/// NonZero or Exp: a Softmax after a classifier is no tail.
Tail find_tail(const Graph& graph);

}  // namespace quarkq::ir
