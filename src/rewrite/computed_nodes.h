// SPDX-License-Identifier: MIT
// Nodes that constant folding does not fold although their inputs are known.
#pragma once

#include <algorithm>
#include <string_view>

#include "ir/quantizing_ops.h"

namespace quarkq::rewrite {

/// Operators whose results differ between calls.
inline constexpr std::string_view kRandomOps[] = {"RandomNormal",      "RandomUniform", "RandomNormalLike",
                                                  "RandomUniformLike", "Bernoulli",     "Multinomial"};

inline bool is_random(const ir::Node& node) {
  return std::find(std::begin(kRandomOps), std::end(kRandomOps), node.op) != std::end(kRandomOps);
}

/// Random and quantizing operators, which are intentional.
inline bool stays_computed(const ir::Node& node) {
  const ir::QuantizingPart part = ir::quantizing_part(&node);
  return is_random(node) || part == ir::QuantizingPart::kQuantize || part == ir::QuantizingPart::kDequantize;
}

}  // namespace quarkq::rewrite
