// SPDX-License-Identifier: MIT
// Private to the elementwise family: prepare functions that live in files of their own.
#pragma once

#include <cstdint>

#include "exec/kernels/broadcast.h"
#include "exec/op_def.h"

namespace quarkq::exec {

// elementwise_compare.cpp
Result<Kernel> prepare_equal(Prepare& p);
Result<Kernel> prepare_greater(Prepare& p);
Result<Kernel> prepare_greater_or_equal(Prepare& p);
Result<Kernel> prepare_less(Prepare& p);
Result<Kernel> prepare_less_or_equal(Prepare& p);
Result<Kernel> prepare_and(Prepare& p);
Result<Kernel> prepare_or(Prepare& p);
Result<Kernel> prepare_xor(Prepare& p);
Result<Kernel> prepare_where(Prepare& p);
// elementwise_cast.cpp
Result<Kernel> prepare_cast(Prepare& p);
Result<Kernel> prepare_cast_like(Prepare& p);

/// y = f(a, b) over a planned walk, for any types.
template <typename T, typename U, typename R, typename F>
void binary_run(const BroadcastPlan& plan, const T* a, const U* b, R* y, const F& f) {
  for_broadcast(plan, [&](const BroadcastBlock& block) {
    for (int64_t r = 0; r < block.rows; ++r) {
      const T* left = a + block.at[0] + r * plan.steps[0].row;
      const U* right = b + block.at[1] + r * plan.steps[1].row;
      R* out = y + block.out + r * block.columns;
      const int64_t left_step = plan.steps[0].column, right_step = plan.steps[1].column;
      for (int64_t c = 0; c < block.columns; ++c) out[c] = f(left[c * left_step], right[c * right_step]);
    }
  });
}

/// Dims of input 1 as input 0 sees them: before opset 7 attributes `broadcast` and `axis` say how they are aligned.
/// In elementwise_legacy.cpp.
Result<ir::Shape> aligned_right_dims(const Prepare& p);

/// What prepare of a two-input operator needs.
struct BinaryOperands {
  ir::Shape dims;  ///< of the result
  BroadcastPlan plan;
};
/// Aligns and broadcasts inputs 0 and 1. REQUIRES: both are there.
inline Result<BinaryOperands> broadcast_pair(const Prepare& p) {
  QQ_TRY(const ir::Shape right, aligned_right_dims(p));
  QQ_TRY(ir::Shape dims, ir::broadcast(p.in(0).dims, right).context(p.label()));
  BroadcastPlan plan = plan_broadcast(dims, {p.in(0).dims, right});
  return BinaryOperands{std::move(dims), std::move(plan)};
}
/// The same for inputs that must be of one type.
inline Result<BinaryOperands> require_pair(const Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_RETURN_IF_ERROR(p.require_input(1));
  if (p.in(0).type != p.in(1).type) {
    return p.corrupt("inputs are ", name(p.in(0).type), " and ", name(p.in(1).type), ", must be of one type");
  }
  return broadcast_pair(p);
}

}  // namespace quarkq::exec
