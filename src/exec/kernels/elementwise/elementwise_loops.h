// SPDX-License-Identifier: MIT
// Vectorized float32 loops of the two-input operators.
#pragma once

#include <cstdint>

#include "base/isa.h"
#include "exec/kernels/shared/broadcast.h"

namespace quarkq::exec {

enum class Binary : uint8_t { kAdd, kSub, kMul, kDiv, kMin, kMax, kPRelu };

/// Operands of one block: base pointers and steps.
struct BinaryBlock {
  const float* a;
  const float* b;
  float* y;
  int64_t rows, columns;
  RowSteps a_steps, b_steps;
};

/// How many results a selection has, and the steps of its operands: 0 repeats one, 1 walks it.
struct SelectedRow {
  int64_t count, condition, a, b;
};

QQ_DECLARE_ISA(
    /// y[r, c] = op(a[r, c], b[r, c]). y may be a or b where that one is not broadcast.
    void binary_loop(Binary op, const BinaryBlock& block);
    /// y = x^exponent for exponents 2, 3, 0.5, -0.5 and -1. y may be x.
    void power_loop(float exponent, const float* x, float* y, int64_t n);
    /// y[i] = condition[i] != 0 ? a[i] : b[i]. T: unsigned integers of 8 to 64 bits.
    template <typename T>
    void select_row(const uint8_t* condition, const T* a, const T* b, T* y, const SelectedRow& steps);)

}  // namespace quarkq::exec
