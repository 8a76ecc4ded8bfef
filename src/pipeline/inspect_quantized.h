// SPDX-License-Identifier: MIT
// Quantized tensors of a written model, determined from its nodes alone, whichever program wrote it.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "quarkq/inspect.h"

namespace quarkq::pipeline {

/// Quantized tensors of the main graph.
std::vector<QuantizedTensor> list_quantized(const ir::Graph& graph);
/// Their groups, by kind and type.
std::vector<QuantizedGroup> group_quantized(const std::vector<QuantizedTensor>& tensors);

/// Every node of the main graph that does not quantize, in node order, with what it reads and writes.
std::vector<NodeFormats> node_formats(const ir::Graph& graph);

}  // namespace quarkq::pipeline
