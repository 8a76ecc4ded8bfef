// SPDX-License-Identifier: MIT
// Which layers are equalized together, in which order, and which of these the reference scales although it must not
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

/// Two layers (head, tail) or three Convs (plain, depthwise, plain), in the order data flows.
using LayerChain = std::vector<ir::NodeId>;

/// Pairs, then triples, as the walks of ref:equalization#pairs and ref:equalization#triples find them.
std::vector<LayerChain> find_chains(const ir::Graph& graph, const plan::Selection& selection);

/// Pairs with a Clip right after the head.
std::vector<LayerChain> find_clipped_pairs(const ir::Graph& graph, const plan::Selection& selection);

/// The order of application (ref:equalization#order-of-patterns): the first chain comes twice.
std::vector<LayerChain> order_chains(const ir::Graph& graph, const std::vector<LayerChain>& chains);

/// What is scaled all the same although it changes the function.
struct Risks {
  bool shared_biases = false;   ///< biases with other readers
  bool outputs_inside = false;  ///< outputs of the model between the layers
  bool blocks = false;          ///< a Conv with blocks of channels in the middle of a triple
};

/// Why scaling this chain would change the function or is not possible; empty when it is safe.
std::string unsafe_reason(const ir::Graph& graph, const LayerChain& chain, const Risks& taken);

/// Why factors per channel do not pass a Pad, whose data has its channels along this axis; empty when they do.
std::string pad_reason(const ir::Graph& graph, const ir::Node& pad, int64_t channel_axis, int64_t rank);

/// The one node that reads outputs of `node`, null when there are several or none. Graph outputs do not count here.
const ir::Node* only_consumer(const ir::Graph& graph, const ir::Node& node);

// Arithmetic of one equalization step (ref:equalization#pair-scales, ref:equalization#triple-scales): float32,
// rounded after every operation as written there.

/// The bias of a head as one more column of its weights: divided by the one number per layer that keeps it from
/// outweighing them (ref:equalization#bias-column). One entry per channel.
std::vector<float> bias_column(std::span<const float> weights, const ChannelView& view, std::span<const float> bias);

/// Rescales the two or three layers of a chain. REQUIRES: unsafe_reason() found nothing.
void equalize_chain(const ir::Graph& graph, const LayerChain& chain, const config::Settings& settings,
                    WorkingWeights& weights);

}  // namespace quarkq::rewrite
