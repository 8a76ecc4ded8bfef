// SPDX-License-Identifier: MIT
// What is trained at once (ADR 0011): one layer with its activation, or a block of several.
#pragma once

#include <string>
#include <vector>

#include "planning/tune/layers.h"

namespace quarkq::planning::finetune {

struct Unit {
  std::string label;
  std::vector<const Layer*> layers;  ///< in the order of their nodes; outlive the unit
  /// Of the simulated model, in its order: what lies between start and end. Empty: the one layer with its activation.
  std::vector<ir::NodeId> nodes;
  ir::ValueId start;                ///< of the simulated model: what the unit reads, after its quantizer
  ir::ValueId end;                  ///< of the simulated model: what it gives
  ir::ValueId float_start, target;  ///< of the float model: the same two places
  bool channels_last = false;       ///< how images lie in it; false: all values in ONNX order
  bool rounds_end = false;          ///< blocks: the quantizer at the end rounds; false: it only clips
  int64_t inner_bytes = 0;          ///< of the values in between for one sample, and their gradients

  bool is_block() const { return !nodes.empty(); }
};

/// A layer alone. `quantized`: the simulated model.
Unit unit_of(const Layer& layer, const ir::Graph& quantized);

// Blocks by structure (ADR 0011): residual blocks, inverted residual ones, chains of layers.

constexpr size_t kMostLayers = 8;   ///< of a block whose paths come together
constexpr size_t kChainLayers = 4;  ///< of a block without branches
constexpr size_t kMostNodes = 64;   ///< of any, quantizers included

/// Each of `layers`, which are in the written order, is in one unit; the units are in an order in which none reads what
/// a later one gives. `quantized`: the simulated model; `original`: the float one. Both and `layers` outlive the units.
std::vector<Unit> find_blocks(const std::vector<Layer>& layers, const ir::Graph& quantized, const ir::Graph& original);

}  // namespace quarkq::planning::finetune
