// SPDX-License-Identifier: MIT
#include "planning/tune/train_loops.h"

#include "exec/kernels/shared/simd_math.h"

namespace quarkq::planning::QQ_ISA {

double loss_gradient(const LossArrays& a, int64_t begin, int64_t end) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = begin; i < end; ++i) {
    const float off = a.quantized[i] - a.target[i];
    sum += static_cast<double>(off) * static_cast<double>(off);
    a.gradient[i] = a.result[i] >= a.low && a.result[i] <= a.high ? a.factor * off : 0.0f;
  }
  return sum;
}

double squared_distance(const float* a, const float* b, int64_t begin, int64_t end) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = begin; i < end; ++i) {
    const auto off = static_cast<double>(a[i] - b[i]);
    sum += off * off;
  }
  return sum;
}

void add_rows(const float* dy, const float* x, int64_t rows, int64_t channels, double* sums) {
  for (int64_t i = 0; i < rows * channels; i += channels) {
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c)
      sums[c] += static_cast<double>(dy[i + c]) * (x == nullptr ? 1.0 : static_cast<double>(x[i + c]));
  }
}

namespace {

/// The loss of one row of channels, without the Sigmoid's.
double row_loss(const TargetLoss& a, int64_t row, float scale) {
  const float *x = a.result + row, *t = a.target + row;
  float* const dx = a.gradient == nullptr ? nullptr : a.gradient + row;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t c = 0; c < a.channels; ++c) {
    const float back = a.factors[c] > 0 ? 1 / a.factors[c] : 0.0f;
    const float off = back > 0 ? x[c] * back - t[c] : 0.0f;
    sum += off * off;
    if (dx != nullptr) dx[c] = scale * off * back;
  }
  return static_cast<double>(sum);
}

/// Returns the loss of [begin, end) without factors and without the Sigmoid's.
double plain_loss(const TargetLoss& a, int64_t begin, int64_t end, float scale) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = begin; i < end; ++i) {
    const float off = a.result[i] - a.target[i];
    sum += static_cast<double>(off) * static_cast<double>(off);
    if (a.gradient != nullptr) a.gradient[i] = scale * off;
  }
  return sum;
}

double sigmoid_loss(const TargetLoss& a, int64_t begin, int64_t end, float scale) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = begin; i < end; ++i) {
    const float found = exec::simd::sigmoid(a.result[i]);
    const float off = found - exec::simd::sigmoid(a.target[i]);
    sum += static_cast<double>(off) * static_cast<double>(off);
    if (a.gradient != nullptr) a.gradient[i] += scale * off * found * (1.0f - found);
  }
  return sum;
}

}  // namespace

double target_loss(const TargetLoss& a, int64_t begin, int64_t end) {
  const auto scale = static_cast<float>(2 * a.share * a.weight);
  double sum = 0;
  if (a.factors == nullptr) {
    sum = plain_loss(a, begin, end, scale);
  } else {
    for (int64_t row = begin; row < end; row += a.channels) sum += row_loss(a, row, scale);
  }
  sum *= a.weight;
  if (a.sigmoid_weight > 0)
    sum += a.sigmoid_weight * sigmoid_loss(a, begin, end, static_cast<float>(2 * a.share * a.sigmoid_weight));
  return sum;
}

namespace {

/// Two rounds of multiply and xor-shift, enough for every bit of the position to reach the highest ones.
inline bool is_drawn(int64_t i, const Draw& draw) {
  uint32_t bits = static_cast<uint32_t>(i) * 0x9e3779b9u + draw.seed;
  bits = (bits ^ (bits >> 16)) * 0x7feb352du;
  bits = (bits ^ (bits >> 15)) * 0x846ca68bu;
  return (bits ^ (bits >> 16)) < draw.limit;
}

inline float clip(float x, float low, float high) {
  const float y = x < low ? low : x;
  return y > high ? high : y;
}

}  // namespace

void clip_the_rest(const float* x, float* y, Span span, Draw draw, Elements elements) {
#pragma omp simd
  for (int64_t i = elements.begin; i < elements.end; ++i)
    y[i] = is_drawn(i, draw) ? y[i] : clip(x[i], span.low, span.high);
}

void mix(const float* a, const float* b, float* y, Draw draw, Elements elements) {
#pragma omp simd
  for (int64_t i = elements.begin; i < elements.end; ++i) y[i] = is_drawn(i, draw) ? a[i] : b[i];
}

void pass_inside(const float* at, float* y, Span span, Elements elements) {
#pragma omp simd
  for (int64_t i = elements.begin; i < elements.end; ++i) y[i] = at[i] >= span.low && at[i] <= span.high ? y[i] : 0.0f;
}

void clip_to(const float* x, float* y, Span span, Elements elements) {
#pragma omp simd
  for (int64_t i = elements.begin; i < elements.end; ++i) y[i] = clip(x[i], span.low, span.high);
}

void pass_strictly_inside(const float* at, float* y, Span span, Elements elements) {
#pragma omp simd
  for (int64_t i = elements.begin; i < elements.end; ++i) y[i] = at[i] > span.low && at[i] < span.high ? y[i] : 0.0f;
}

void hard_sigmoid(const float* x, float* y, float factor, float offset, Elements elements) {
#pragma omp simd
  for (int64_t i = elements.begin; i < elements.end; ++i) y[i] = clip(factor * x[i] + offset, 0.0f, 1.0f);
}

void hard_sigmoid_gradient(const float* x, float* y, float factor, float offset, Elements elements) {
#pragma omp simd
  for (int64_t i = elements.begin; i < elements.end; ++i) {
    const float line = factor * x[i] + offset;
    y[i] = line > 0.0f && line < 1.0f ? y[i] * factor : 0.0f;
  }
}

void add(const float* a, const float* b, float* y, Elements elements) {
#pragma omp simd
  for (int64_t i = elements.begin; i < elements.end; ++i) y[i] = a[i] + b[i];
}

void subtract(const float* a, const float* b, float* y, Elements elements) {
#pragma omp simd
  for (int64_t i = elements.begin; i < elements.end; ++i) y[i] = a[i] - b[i];
}

void scale(const float* x, float* y, float factor, Elements elements) {
#pragma omp simd
  for (int64_t i = elements.begin; i < elements.end; ++i) y[i] = x[i] * factor;
}

void multiply(const float* a, const float* b, float* y, Elements elements) {
#pragma omp simd
  for (int64_t i = elements.begin; i < elements.end; ++i) y[i] = a[i] * b[i];
}

namespace {

constexpr float kGamma = -0.1f, kWidth = 1.2f;  // the stretched sigmoid: gamma to zeta
namespace simd = exec::simd;

/// The rounding cost of a share and its derivative, times the factors of `step`; none where the share is clipped.
struct Cost {
  float cost, derivative;
};
Cost cost_of(float share, bool is_soft, const AdaRoundStep& step) {
  const float centered = 2.0f * share - 1.0f, size = std::fabs(centered);
  const float power = simd::exp((step.beta - 1.0f) * simd::log(size));
  const float derivative = -step.reg_param * step.beta * power * std::copysign(2.0f, centered);
  return {is_soft ? 1.0f - power * size : 0.0f, is_soft ? derivative : 0.0f};
}

template <bool kWarmUp>
double steps(const AdaRoundArrays& a, const float* gradient, const AdaRoundStep& step, int64_t begin, int64_t end) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = begin; i < end; ++i) {
    const float raw = a.raw[i];
    const bool is_soft = raw >= 0.0f && raw <= 1.0f;
    const float share = clip(raw, 0.0f, 1.0f);
    const float at = a.floors[i] + share;
    const bool is_inside = at >= a.low && at <= a.high;
    float of_share = is_inside ? gradient[i] * a.scales[i] : 0.0f;
    if constexpr (!kWarmUp) {
      const Cost cost = cost_of(share, is_soft, step);
      total += cost.cost;
      of_share += cost.derivative;
    }
    const float sigmoid = (raw - kGamma) * (1.0f / kWidth);
    const float g = is_soft ? of_share * kWidth * sigmoid * (1.0f - sigmoid) : 0.0f;
    const float first = 0.9f * a.first[i] + 0.1f * g, second = 0.999f * a.second[i] + 0.001f * g * g;
    a.first[i] = first;
    a.second[i] = second;
    a.alpha[i] -= step.rate * first / (std::sqrt(second) * step.root + 1e-8f);
  }
  return static_cast<double>(total);
}

}  // namespace

void adaround_weights(const AdaRoundArrays& a, float* weights, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float raw = kWidth * simd::sigmoid(a.alpha[i]) + kGamma;
    a.raw[i] = raw;
    const float code = clip(a.floors[i] + clip(raw, 0.0f, 1.0f), a.low, a.high);
    weights[i] = (code - a.zeros[i]) * a.scales[i];
  }
}

double adaround_step(const AdaRoundArrays& arrays, const float* gradient, const AdaRoundStep& step, int64_t begin,
                     int64_t end) {
  return step.is_warm_up ? steps<true>(arrays, gradient, step, begin, end)
                         : steps<false>(arrays, gradient, step, begin, end);
}

}  // namespace quarkq::planning::QQ_ISA
