// SPDX-License-Identifier: MIT
// Vectorized float32 loops of the one-input operators.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {

enum class Unary : uint8_t {
  // clang-format off
  kRelu, kLeakyRelu, kClip, kSigmoid, kHardSigmoid, kHardSwish, kTanh, kExp, kLog, kSqrt, kNeg, kAbs, kReciprocal,
  kFloor, kCeil, kRound, kSign, kSin, kCos, kErf, kGelu, kGeluTanh, kElu, kSelu, kSoftplus, kSoftsign,
  kThresholdedRelu, kCelu, kMish, kSwish, kShrink,
  kTan, kAsin, kAcos, kAtan, kSinh, kCosh, kAsinh, kAcosh, kAtanh,
  // clang-format on
};

/// alpha and beta: the operator's attributes (Clip: its limits; Selu: alpha and gamma; Shrink: bias and lambd).
struct UnaryParams {
  Unary op = Unary::kRelu;
  float alpha = 0, beta = 0;
};

/// op(x) in double: slow, and what the fast loops are tested against. Defined in activation_double.cpp.
double unary_double(const UnaryParams& params, double x);

QQ_DECLARE_ISA(
    /// y = op(x). y may be x.
    void unary_loop(const UnaryParams& params, const float* x, float* y, int64_t n);)

// Vectorized conversion of float32 to integers: truncated, clamped, NaN becomes 0.

QQ_DECLARE_ISA(
    /// T: int8_t, uint8_t, int16_t, uint16_t, int32_t, int64_t.
    template <typename T> void integers_from_floats(const float* x, T* y, int64_t n);)

}  // namespace quarkq::exec
