// SPDX-License-Identifier: MIT
// Arithmetic of one equalization step (ref:equalization#pair-scales, ref:equalization#triple-scales): float32,
// rounded after every operation as written there.
#pragma once

#include <span>
#include <vector>

#include "config/settings.h"
#include "rewrite/equalize/patterns.h"
#include "rewrite/weights.h"

namespace quarkq::rewrite {

/// The bias of a head as one more column of its weights: divided by the one number per layer that keeps it from
/// outweighing them (ref:equalization#bias-column). One entry per channel.
std::vector<float> bias_column(std::span<const float> weights, const ChannelView& view, std::span<const float> bias);

/// Rescales the two or three layers of a chain. REQUIRES: unsafe_reason() found nothing.
void equalize_chain(const ir::Graph& graph, const LayerChain& chain, const config::Settings& settings,
                    WorkingWeights& weights);

}  // namespace quarkq::rewrite
