// SPDX-License-Identifier: MIT
// The operators that a spelled-out Gelu is made of (ref:rewrites#gelu).
#pragma once

#include <cstdint>
#include <optional>

#include "rewrite/fuse_group.h"

namespace quarkq::rewrite {

constexpr int64_t kFirstGeluOpset = 20;  // of the standard operator

struct GeluGroup {
  MatchedGroup group;
  ir::ValueId x;
};

/// 0.5 * (x * (1 + erf(x / sqrt(2)))), which ends in `root`.
std::optional<GeluGroup> match_halved_gelu(const ir::Graph& graph, const ir::Node& root);

}  // namespace quarkq::rewrite
