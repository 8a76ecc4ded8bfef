// SPDX-License-Identifier: MIT
// Vectorized float32 loops of the two-input operators.
#pragma once

#include <cstdint>

#include "base/isa.h"
#include "exec/kernels/broadcast.h"

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

QQ_DECLARE_ISA(
    /// y[r, c] = op(a[r, c], b[r, c]). y may be a or b where that one is not broadcast.
    void binary_loop(Binary op, const BinaryBlock& block);)

}  // namespace quarkq::exec
