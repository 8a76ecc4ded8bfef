// SPDX-License-Identifier: MIT
#include "exec/kernels/elementwise/unary_loops.h"

#include "exec/kernels/shared/simd_math.h"
#include "exec/kernels/shared/simd_trig.h"

namespace quarkq::exec::QQ_ISA {
namespace {

template <typename F>
void loop(const float* x, float* y, int64_t n, F f) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

float leaky(float x, float slope) {
  const float scaled = slope * x;
  return x < 0.0f ? scaled : x;
}

float hard_sigmoid(float x, float alpha, float beta) { return simd::clamp_keeping_nan(alpha * x + beta, 0.0f, 1.0f); }

float gelu_tanh(float x) {
  const float inner = 0.797884561f * (x + 0.044715f * x * x * x);  // sqrt(2 / pi)
  return 0.5f * x * (1.0f + simd::tanh(inner));
}

/// x tanh(log(1 + e)) with e = exp(x), as a quotient of polynomials in e.
float mish(float x) {
  const float e = simd::exp(x < 20.0f ? x : 20.0f);
  const float numerator = e * (e + 2.0f);
  const float y = x * (numerator / (numerator + 2.0f));
  return x > 20.0f || x != x ? x : y;
}

float sign(float x) {
  const float y = x > 0.0f ? 1.0f : 0.0f;
  return x != x ? x : x < 0.0f ? -1.0f : y;
}

float shrink(float x, float bias, float limit) {
  const float low = x + bias, high = x - bias;
  const float y = x > limit ? high : 0.0f;
  return x < -limit ? low : y;
}

float elu(float x, float alpha, float divisor) {
  const float y = alpha * simd::expm1(x / divisor);
  return x < 0.0f ? y : x;
}

/// The operators that one instruction or two compute.
bool plain_loop(const UnaryParams& p, const float* x, float* y, int64_t n) {
  const float a = p.alpha, b = p.beta;
  switch (p.op) {
    case Unary::kRelu: loop(x, y, n, [](float v) { return v < 0.0f ? 0.0f : v; }); return true;
    case Unary::kLeakyRelu: loop(x, y, n, [a](float v) { return leaky(v, a); }); return true;
    // An upper limit below the lower one wins, as min(max(x, low), high) has it.
    case Unary::kClip: loop(x, y, n, [a, b](float v) { return simd::clamp_keeping_nan(v, a, b); }); return true;
    case Unary::kHardSigmoid: loop(x, y, n, [a, b](float v) { return hard_sigmoid(v, a, b); }); return true;
    case Unary::kHardSwish: loop(x, y, n, [](float v) { return v * hard_sigmoid(v, 1.0f / 6.0f, 0.5f); }); return true;
    case Unary::kSqrt: loop(x, y, n, [](float v) { return std::sqrt(v); }); return true;
    case Unary::kNeg: loop(x, y, n, [](float v) { return -v; }); return true;
    case Unary::kAbs: loop(x, y, n, [](float v) { return std::fabs(v); }); return true;
    case Unary::kReciprocal: loop(x, y, n, [](float v) { return 1.0f / v; }); return true;
    case Unary::kFloor: loop(x, y, n, [](float v) { return std::floor(v); }); return true;
    case Unary::kCeil: loop(x, y, n, [](float v) { return std::ceil(v); }); return true;
    case Unary::kRound: loop(x, y, n, [](float v) { return std::rint(v); }); return true;
    case Unary::kSign: loop(x, y, n, [](float v) { return sign(v); }); return true;
    case Unary::kSoftsign: loop(x, y, n, [](float v) { return v / (1.0f + std::fabs(v)); }); return true;
    case Unary::kThresholdedRelu: loop(x, y, n, [a](float v) { return v > a ? v : 0.0f; }); return true;
    case Unary::kShrink: loop(x, y, n, [a, b](float v) { return shrink(v, a, b); }); return true;
    default: return false;
  }
}

/// Sine, cosine or tangent: angles so large that they cannot be reduced in double go through the C library.
template <typename F>
void angle_loop(const UnaryParams& p, const float* x, float* y, int64_t n, F f) {
  constexpr int64_t kBlock = 256;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = begin + kBlock < n ? begin + kBlock : n;
    int large = 0;
#pragma omp simd reduction(| : large)
    for (int64_t i = begin; i < end; ++i) large |= std::fabs(x[i]) > simd::kLargestAngle ? 1 : 0;
    if (large == 0) {
      loop(x + begin, y + begin, end - begin, f);
    } else {
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<float>(unary_double(p, static_cast<double>(x[i])));
    }
  }
}

}  // namespace

void unary_loop(const UnaryParams& p, const float* x, float* y, int64_t n) {
  if (plain_loop(p, x, y, n)) return;
  const float a = p.alpha, b = p.beta;
  switch (p.op) {
    case Unary::kSigmoid: return loop(x, y, n, [](float v) { return simd::sigmoid(v); });
    case Unary::kTanh: return loop(x, y, n, [](float v) { return simd::tanh(v); });
    case Unary::kExp: return loop(x, y, n, [](float v) { return simd::exp(v); });
    case Unary::kLog: return loop(x, y, n, [](float v) { return simd::log(v); });
    case Unary::kErf: return loop(x, y, n, [](float v) { return simd::erf(v); });
    case Unary::kGelu: return loop(x, y, n, [](float v) { return 0.5f * v * (1.0f + simd::erf(v * 0.707106781f)); });
    case Unary::kGeluTanh: return loop(x, y, n, [](float v) { return gelu_tanh(v); });
    case Unary::kElu: return loop(x, y, n, [a](float v) { return elu(v, a, 1.0f); });
    case Unary::kSelu: return loop(x, y, n, [a, b](float v) { return b * elu(v, a, 1.0f); });
    case Unary::kCelu: return loop(x, y, n, [a](float v) { return elu(v, a, a); });
    case Unary::kSoftplus: return loop(x, y, n, [](float v) { return simd::softplus(v); });
    case Unary::kMish: return loop(x, y, n, [](float v) { return mish(v); });
    case Unary::kSwish: return loop(x, y, n, [a](float v) { return v * simd::sigmoid(a * v); });
    case Unary::kSin: return angle_loop(p, x, y, n, [](float v) { return simd::sin(v); });
    case Unary::kCos: return angle_loop(p, x, y, n, [](float v) { return simd::cos(v); });
    case Unary::kTan: return angle_loop(p, x, y, n, [](float v) { return simd::tan(v); });
    case Unary::kAtan: return loop(x, y, n, [](float v) { return simd::atan(v); });
    case Unary::kAsin: return loop(x, y, n, [](float v) { return simd::asin(v); });
    case Unary::kAcos: return loop(x, y, n, [](float v) { return simd::acos(v); });
    // Rare and hard to reduce: the C library, in double so that no platform's float version matters.
    default:
      for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(unary_double(p, static_cast<double>(x[i])));
      return;
  }
}

}  // namespace quarkq::exec::QQ_ISA
