// SPDX-License-Identifier: MIT
// Which tensors of a written model are quantized, read from its nodes alone: whoever wrote it.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "quarkq/inspect.h"

namespace quarkq::pipeline {

/// Q, DQ (standard, com.microsoft and extended ones) and the block-format nodes that do both at once.
bool is_quantizing(const ir::Node& node);

/// Quantized tensors of the main graph, counted by kind and type. Several pairs on one tensor count once, as their
/// first.
std::vector<QuantizedGroup> find_quantized(const ir::Graph& graph);

}  // namespace quarkq::pipeline
