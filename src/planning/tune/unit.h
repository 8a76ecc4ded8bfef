// SPDX-License-Identifier: MIT
// The unit of training (ADR 0011): one layer with its activation, or a block of several layers.
#pragma once

#include <string>
#include <vector>

#include "planning/tune/layers.h"

namespace quarkq::planning::finetune {

/// A part of the simulated model that is computed and differentiated as a whole.
struct TapeRegion {
  std::vector<ir::NodeId> nodes;     ///< In the order of the model.
  std::vector<ir::ValueId> starts;   ///< Values that are read from outside.
  std::vector<ir::ValueId> ends;     ///< Values that are compared with targets.
  std::vector<const Layer*> layers;  ///< The layers that are learned; must outlive the region.
  bool channels_last = false;        ///< Layout of the starts.
  bool one_layout = true;            ///< All operators use the layout of the starts, as in blocks.
  bool rounds_end = true;            ///< The quantizer at an end rounds. False: it only clips.
};

struct Unit {
  std::string label;
  std::vector<const Layer*> layers;  ///< In node order; must outlive the unit.
  /// Nodes of the simulated model between start and end, in its order. Empty: the one layer with its activation.
  std::vector<ir::NodeId> nodes;
  ir::ValueId start;                ///< Input of the unit in the simulated model, after its quantizer.
  ir::ValueId end;                  ///< Output of the unit in the simulated model.
  ir::ValueId float_start, target;  ///< Input and output of the unit in the float model.
  bool channels_last = false;       ///< Layout of images in the unit; false: all values are in ONNX order.
  bool rounds_end = false;          ///< For blocks: the quantizer at the end rounds. False: it only clips.
  int64_t inner_bytes = 0;          ///< Bytes of the inner values for one sample, and of their gradients.

  bool is_block() const { return !nodes.empty(); }
  TapeRegion region() const { return {nodes, {start}, {end}, layers, channels_last, true, rounds_end}; }
};

/// Returns by value whether no sample changes it: initializers, and values computed from constants only.
std::vector<bool> constant_values(const ir::Graph& graph);

/// Returns a unit of one layer. `quantized` is the simulated model.
Unit unit_of(const Layer& layer, const ir::Graph& quantized);

// Blocks by structure (ADR 0011): residual blocks, inverted residual blocks, chains of layers.

constexpr size_t kMostLayers = 8;   ///< Upper bound on the layers of a block whose paths join.
constexpr size_t kChainLayers = 4;  ///< Upper bound on the layers of a block without branches.
constexpr size_t kMostNodes = 64;   ///< Upper bound on the nodes of any block, including quantizers.

/// Divides `layers`, which are in the written order, into units. No unit reads the output of a later one. `quantized`
/// is the simulated model, `original` the float model. Both and `layers` must outlive the units.
std::vector<Unit> find_blocks(const std::vector<Layer>& layers, const ir::Graph& quantized, const ir::Graph& original);

}  // namespace quarkq::planning::finetune
