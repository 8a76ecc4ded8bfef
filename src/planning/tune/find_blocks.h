// SPDX-License-Identifier: MIT
// Blocks by structure (ADR 0011): residual blocks, inverted residual ones, chains of layers.
#pragma once

#include <vector>

#include "planning/tune/unit.h"

namespace quarkq::planning::finetune {

constexpr size_t kMostLayers = 8;   ///< of a block whose paths come together
constexpr size_t kChainLayers = 4;  ///< of a block without branches
constexpr size_t kMostNodes = 64;   ///< of any, quantizers included

/// Each of `layers`, which are in the written order, is in one unit; the units are in an order in which none reads what
/// a later one gives. `quantized`: the simulated model; `original`: the float one. Both and `layers` outlive the units.
std::vector<Unit> find_blocks(const std::vector<Layer>& layers, const ir::Graph& quantized, const ir::Graph& original);

}  // namespace quarkq::planning::finetune
