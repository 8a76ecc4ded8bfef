// SPDX-License-Identifier: MIT
// Layers that are equalized together, their order, and the unsafe cases that the reference scales anyway
// (ref:equalization#pairs, ref:equalization#order-of-patterns).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/settings.h"
#include "ir/graph.h"
#include "plan/selection.h"
#include "rewrite/weights.h"

namespace quarkq::rewrite {

/// Two layers (head, tail) or three Convs (plain, depthwise, plain), in data flow order.
using LayerChain = std::vector<ir::NodeId>;

/// Returns pairs, then triples, in the order of the walks of ref:equalization#pairs and ref:equalization#triples.
std::vector<LayerChain> find_chains(const ir::Graph& graph, const plan::Selection& selection);

/// Returns pairs with a Clip directly after the head.
std::vector<LayerChain> find_clipped_pairs(const ir::Graph& graph, const plan::Selection& selection);

/// Returns the order of application (ref:equalization#order-of-patterns), in which the first chain occurs twice.
std::vector<LayerChain> order_chains(const ir::Graph& graph, const std::vector<LayerChain>& chains);

/// Cases that are scaled although this changes the function.
struct Risks {
  bool shared_biases = false;   ///< Biases with other readers.
  bool outputs_inside = false;  ///< Outputs of the model between the layers.
  bool blocks = false;          ///< A Conv with blocks of channels in the middle of a triple.
};

/// Returns why scaling this chain would change the function or is impossible; empty if it is safe.
std::string unsafe_reason(const ir::Graph& graph, const LayerChain& chain, const Risks& taken);

/// Returns why factors per channel cannot pass a Pad, whose data has its channels along this axis; empty if they can.
std::string pad_reason(const ir::Graph& graph, const ir::Node& pad, int64_t channel_axis, int64_t rank);

/// Returns the only node that reads outputs of `node`, or null if there are several or none. Graph outputs do not
/// count.
const ir::Node* only_consumer(const ir::Graph& graph, const ir::Node& node);

// Arithmetic of one equalization step (ref:equalization#pair-scales, ref:equalization#triple-scales): float32, rounded
// after every operation as specified there.

/// Returns the bias of a head as an additional column of its weights, divided by one number per layer that keeps it
/// from dominating them (ref:equalization#bias-column). One entry per channel.
std::vector<float> bias_column(std::span<const float> weights, const ChannelView& view, std::span<const float> bias);

/// Rescales the two or three layers of a chain. REQUIRES: unsafe_reason() returned an empty string.
void equalize_chain(const ir::Graph& graph, const LayerChain& chain, const config::Settings& settings,
                    WorkingWeights& weights);

}  // namespace quarkq::rewrite
