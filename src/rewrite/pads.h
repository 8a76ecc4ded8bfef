// SPDX-License-Identifier: MIT
// Reading of a constant Pad around an image, and merging it into the Conv that reads it (ref:rewrites#simplifier,
// ref:rewrites#basic-optimizer).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/patch.h"

namespace quarkq::rewrite {

/// Returns the stored value that a pass may rely on, or null. Each pass defines the condition.
using ConstantOf = std::function<const ir::Tensor*(ir::ValueId)>;

/// The padding that a Pad adds around an image [N, C, ...].
struct SpatialPad {
  std::vector<int64_t> amounts;  ///< Begins, then ends, of all dimensions. 0 for N and C, nonnegative elsewhere.
  double value = 0;
};

/// Returns nullopt unless the mode is constant, the amounts (an int64 input or the attribute) and the value are known,
/// and only image dimensions grow.
std::optional<SpatialPad> read_spatial_pad(const ir::Node& pad, const ConstantOf& constant);

/// Returns `pads` of a window ([begin..., end...] of the image dimensions) plus `pad`, or nullopt if the numbers of
/// dimensions differ or a sum overflows.
std::optional<std::vector<int64_t>> grown_pads(std::vector<int64_t> pads, const SpatialPad& pad);

/// Replaces both nodes by `conv` on the Pad's input, named `name`, with pads increased by `amounts`. Returns nullopt if
/// the Conv pads automatically (auto_pad other than NOTSET and VALID) or its pads do not match the rank.
std::optional<ir::GraphPatch> merge_pads(const ir::Node& conv, const ir::Node& pad, const SpatialPad& amounts,
                                         const std::string& name);

}  // namespace quarkq::rewrite
