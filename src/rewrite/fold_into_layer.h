// SPDX-License-Identifier: MIT
// A per-channel factor and offset goes into the layer that makes the channels: the common part of both
// BatchNormalization folds.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/edit.h"
#include "rewrite/batch_norm.h"

namespace quarkq::rewrite {

/// Output channels of a layer with stored weight and bias that can take factor and offset; nothing otherwise.
/// Conv (any group), ConvTranspose (group 1), Gemm with alpha and beta 1 and a bias per column.
std::optional<int64_t> foldable_channels(const ir::Graph& graph, const ir::Node& layer);

/// Rewrites weight and bias of `layer` with channels [first, first + its own) of `affine`. Weights with other readers
/// are copied; a missing bias becomes "<node name>_bias_4bn". REQUIRES: foldable_channels().
void fold_into(ir::Graph& graph, ir::NodeId layer, const ChannelAffine& affine, int64_t first);

}  // namespace quarkq::rewrite
