// SPDX-License-Identifier: MIT
// The Relu or Clip that the range of a Q/DQ pair may have replaced: it comes back where pairs go.
#pragma once

#include "ir/graph.h"
#include "numeric/quant_spec.h"

namespace quarkq::qdq {

/// What a pair does to its tensor, which has one scale and zero point.
struct PairRange {
  ElementType type = ElementType::kUndefined;
  float scale = 1;
  int64_t zero_point = 0;
};

/// Whether the range begins at 0 after an operator whose results have both signs, so that it may be a clamp.
bool may_clamp(const ir::Graph& graph, ir::ValueId value, const PairRange& range);

/// Puts a Relu after the value's producer, or a Clip to 6 where the range ends there, when may_clamp(). One that was
/// not there before changes nothing of what the model with the pair computes.
void restore_clamp(ir::Model& model, ir::ValueId value, const PairRange& range);

}  // namespace quarkq::qdq
