// SPDX-License-Identifier: MIT
// Where the operators that read a tensor saturate: codes for values beyond are wasted.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "numeric/range_to_params.h"

namespace quarkq::planning {

/// By value id, for 8-bit activations: the values that change what the readers give by more than half a step of 1/256.
/// Nothing for a tensor that is an output of the graph, or that anything reads but Sigmoid, HardSigmoid and Tanh,
/// directly or through operators that move values.
std::vector<std::optional<numeric::Range>> ranges_before_saturation(const ir::Graph& graph);

}  // namespace quarkq::planning
