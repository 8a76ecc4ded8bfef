// SPDX-License-Identifier: MIT
// What bias correction compares (spec 04 C): a layer of the quantized graph, its counterpart in the float model, and
// where its bias is stored.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "ir/graph.h"

namespace quarkq::passes {

struct BiasLayer {
  ir::NodeId node;
  std::string label;
  ir::ValueId start, end;  ///< in the quantized graph: what the layer reads, and its result behind Relu, Q, DQ
  ir::ValueId float_start, float_end;  ///< the same in the float model
  ir::ValueId stored;                  ///< the bias: codes, or floats when `dequantizer` is invalid
  ir::NodeId dequantizer;
};

/// Conv and Gemm nodes whose bias can be corrected, in node order. A diagnostic names each that cannot.
std::vector<BiasLayer> bias_layers(const ir::Graph& quantized, const ir::Graph& original, Diagnostics& diagnostics);

}  // namespace quarkq::passes
