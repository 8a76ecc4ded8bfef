// SPDX-License-Identifier: MIT
// The one reader of a constant Pad around an image, and of what becomes of it in the Conv that reads it
// (ref:rewrites#simplifier, ref:rewrites#basic-optimizer).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/patch.h"

namespace quarkq::rewrite {

/// The stored value that a pass may rely on, or null. Each pass says for itself what it relies on.
using ConstantOf = std::function<const ir::Tensor*(ir::ValueId)>;

/// What a Pad adds around an image [N, C, ...].
struct SpatialPad {
  std::vector<int64_t> amounts;  ///< as written: begins, then ends, of all dimensions; 0 for N and C, nowhere below 0
  double value = 0;
};

/// Returns nullopt unless the mode is constant, the amounts (an int64 input or the attribute) and the value are known,
/// and only image dimensions grow.
std::optional<SpatialPad> read_spatial_pad(const ir::Node& pad, const ConstantOf& constant);

/// `pads` of a window ([begin..., end...] of the image dimensions) grown by `pad`; nothing when the numbers of
/// dimensions differ or a sum overflows.
std::optional<std::vector<int64_t>> grown_pads(std::vector<int64_t> pads, const SpatialPad& pad);

/// `conv` on the Pad's input with pads grown by `amounts`, called `name`; both nodes are removed. Nothing when the Conv
/// pads itself (auto_pad other than NOTSET and VALID) or its pads do not fit the rank.
std::optional<ir::GraphPatch> merge_pads(const ir::Node& conv, const ir::Node& pad, const SpatialPad& amounts,
                                         const std::string& name);

}  // namespace quarkq::rewrite
