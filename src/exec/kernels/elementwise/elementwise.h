// SPDX-License-Identifier: MIT
// Private to the elementwise family: prepare functions that live in files of their own.
#pragma once

#include <cstdint>

#include "exec/kernels/shared/broadcast.h"
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
// elementwise_power.cpp
Result<Kernel> prepare_pow(Prepare& p);
// cast_elements.cpp
Result<Kernel> prepare_cast(Prepare& p);
Result<Kernel> prepare_cast_like(Prepare& p);
Result<Kernel> prepare_bit_cast(Prepare& p);

/// How many results a row has, and the steps of its operands: 0 repeats one, 1 walks it.
struct BinaryRow {
  int64_t count = 0, a_step = 1, b_step = 1;
};

/// y[i] = f(a[i], b[i])
template <typename T, typename U, typename R, typename F>
void binary_row(const T* a, const U* b, R* y, const BinaryRow& row, const F& f) {
  const int64_t n = row.count, a_step = row.a_step, b_step = row.b_step;
  if (a_step == 1 && b_step == 1) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
  } else if (a_step == 1) {
    const U right = *b;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], right);
  } else if (b_step == 1) {
    const T left = *a;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = f(left, b[i]);
  } else {
    std::fill_n(y, n, f(*a, *b));
  }
}

/// y = f(a, b) over a planned walk, for any types.
template <typename T, typename U, typename R, typename F>
void binary_run(const BroadcastPlan& plan, const T* a, const U* b, R* y, const F& f) {
  for_broadcast(plan, [&](const BroadcastBlock& block) {
    for (int64_t r = 0; r < block.rows; ++r) {
      binary_row(a + block.at[0] + r * plan.steps[0].row, b + block.at[1] + r * plan.steps[1].row,
                 y + block.out + r * block.columns, {block.columns, plan.steps[0].column, plan.steps[1].column}, f);
    }
  });
}

/// binary_row() for certain types and a stateless function, with a common signature: the code that iterates over rows
/// is compiled once instead of per operator and type.
struct RowLoop {
  void (*run)(const std::byte* a, const std::byte* b, std::byte* y, const BinaryRow& row) = nullptr;
  int64_t a_bytes = 0, b_bytes = 0, y_bytes = 0;  ///< Size of an element.
};

template <typename T, typename U, typename R, typename F>
RowLoop row_loop(F) {
  return {[](const std::byte* a, const std::byte* b, std::byte* y, const BinaryRow& row) {
            binary_row(reinterpret_cast<const T*>(a), reinterpret_cast<const U*>(b), reinterpret_cast<R*>(y), row, F());
          },
          sizeof(T), sizeof(U), sizeof(R)};
}

void run_rows(const BroadcastPlan& plan, const RowLoop& loop, const std::byte* a, const std::byte* b, std::byte* y);
/// run_rows() over inputs 0 and 1.
Kernel rows_kernel(BroadcastPlan plan, const RowLoop& loop);

/// Returns the dims of input 1 aligned to input 0: before opset 7 the attributes `broadcast` and `axis` specify the
/// alignment. Defined in elementwise_power.cpp.
Result<ir::Shape> aligned_right_dims(const Prepare& p);

/// Inputs of `prepare` for a two-input operator.
struct BinaryOperands {
  ir::Shape dims;  ///< Shape of the result.
  BroadcastPlan plan;
};
/// Aligns and broadcasts inputs 0 and 1. REQUIRES: neither is omitted.
inline Result<BinaryOperands> broadcast_pair(const Prepare& p) {
  QQ_TRY(const ir::Shape right, aligned_right_dims(p));
  QQ_TRY(ir::Shape dims, ir::broadcast(p.in(0).dims, right).context(p.label()));
  BroadcastPlan plan = plan_broadcast(dims, {p.in(0).dims, right});
  return BinaryOperands{std::move(dims), std::move(plan)};
}
/// Aligns and broadcasts inputs that must have the same type.
inline Result<BinaryOperands> require_pair(const Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_RETURN_IF_ERROR(p.require_input(1));
  if (p.in(0).type != p.in(1).type) {
    return p.corrupt("inputs are ", name(p.in(0).type), " and ", name(p.in(1).type), ", must be of one type");
  }
  return broadcast_pair(p);
}

}  // namespace quarkq::exec
