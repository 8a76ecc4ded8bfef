// SPDX-License-Identifier: MIT
// A zero Pad of the spatial dimensions becomes part of the pads of the Conv behind it (spec 04 A.4, FusionPadConv).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/patch.h"

namespace quarkq::rewrite {

/// `conv` on the Pad's input with pads grown by `amounts` ([begin..., end...], zero for batch and channels), called
/// `name`; both nodes are removed. Nothing when the Conv pads itself (auto_pad other than NOTSET and VALID) or its pads
/// do not fit the rank.
std::optional<ir::GraphPatch> merge_pads(const ir::Node& conv, const ir::Node& pad, const std::vector<int64_t>& amounts,
                                         const std::string& name);

}  // namespace quarkq::rewrite
