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

}  // namespace quarkq::pipeline
