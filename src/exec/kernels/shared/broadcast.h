// SPDX-License-Identifier: MIT
// How several inputs of one elementwise operator are walked together. Dimensions are merged as far as all inputs allow,
// so the common cases (same shape, scalar, one value per channel) come out as one or two loops.
#pragma once

#include <array>
#include <cstdint>

#include "exec/kernels/shared/support.h"

namespace quarkq::exec {

constexpr size_t kMaxOperands = 3;

/// Element steps of one operand in the two innermost loops; the inner step is 0 or 1.
struct RowSteps {
  int64_t row = 0, column = 0;
};

/// One call of a loop: `rows` x `columns` outputs, contiguous at `out`, operands starting at `at`.
struct BroadcastBlock {
  int64_t rows = 0, columns = 0;
  int64_t out = 0;
  std::array<int64_t, kMaxOperands> at{};
};

struct BroadcastPlan {
  ir::Shape dims;  ///< merged dims of the output, at least one
  std::array<std::vector<int64_t>, kMaxOperands> strides;
  std::array<RowSteps, kMaxOperands> steps{};
};

/// Plans the walk of operands with `shapes` (at most kMaxOperands, each broadcastable to `out`).
BroadcastPlan plan_broadcast(const ir::Shape& out, const std::vector<ir::Shape>& shapes);

/// Dims that all inputs [first, last) broadcast to, in memory order.
Result<ir::Shape> broadcast_inputs(const Prepare& p, size_t first, size_t last);

/// for_broadcast() with the body in a plain function, so that the walk is compiled once and not per element type.
void walk_broadcast(const BroadcastPlan& plan, const void* body, void (*call)(const void*, const BroadcastBlock&));

/// Calls body(const BroadcastBlock&) until all outputs are covered; on several threads when there are many.
template <typename Body>
void for_broadcast(const BroadcastPlan& plan, const Body& body) {
  walk_broadcast(plan, &body,
                 [](const void* b, const BroadcastBlock& block) { (*static_cast<const Body*>(b))(block); });
}

}  // namespace quarkq::exec
