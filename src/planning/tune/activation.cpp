// SPDX-License-Identifier: MIT
// Activations after a layer and their derivatives. Elementwise, so threads do not matter.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "planning/tune/block.h"
#include "planning/tune/element_loops.h"

namespace quarkq::planning::finetune {
namespace {

using Kind = Activation::Kind;

constexpr float kRootHalf = std::numbers::sqrt2_v<float> / 2;
constexpr float kRootTwoOverPi = 0.7978845608f, kCubic = 0.044715f;  // of the tanh form of Gelu
constexpr float kNormalDensity = 0.3989422804f;                      // 1 / sqrt(2 pi)

float clip(float x, float low, float high) {
  const float y = x < low ? low : x;
  return y > high ? high : y;
}

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }
float tanh_of_gelu(float x) { return std::tanh(kRootTwoOverPi * (x + kCubic * x * x * x)); }

template <typename F>
void for_each(int64_t count, const F& f) {
  constexpr int64_t kPiece = 8192;
  for_each_element(static_cast<size_t>(count), kPiece, f);
}

float slope_at(const Activation& a, size_t i, int64_t channels) {
  return a.slopes[a.slopes.size() == 1 ? 0 : i % static_cast<size_t>(channels)];
}

}  // namespace

void activate(const Activation& a, std::span<const float> x, int64_t channels, std::span<float> y) {
  const auto count = static_cast<int64_t>(x.size());
  switch (a.kind) {
    case Kind::kNone: std::copy(x.begin(), x.end(), y.begin()); break;
    case Kind::kClip: for_each(count, [&](size_t i) { y[i] = clip(x[i], a.low, a.high); }); break;
    case Kind::kLeakyRelu:
      for_each(count, [&](size_t i) { y[i] = x[i] < 0 ? slope_at(a, i, channels) * x[i] : x[i]; });
      break;
    case Kind::kHardSigmoid: for_each(count, [&](size_t i) { y[i] = clip(a.low * x[i] + a.high, 0, 1); }); break;
    case Kind::kHardSwish: for_each(count, [&](size_t i) { y[i] = x[i] * clip(x[i] / 6 + 0.5f, 0, 1); }); break;
    case Kind::kTanh: for_each(count, [&](size_t i) { y[i] = std::tanh(x[i]); }); break;
    case Kind::kSigmoid: for_each(count, [&](size_t i) { y[i] = sigmoid(x[i]); }); break;
    case Kind::kGelu: for_each(count, [&](size_t i) { y[i] = x[i] * 0.5f * (1 + std::erf(x[i] * kRootHalf)); }); break;
    case Kind::kTanhGelu: for_each(count, [&](size_t i) { y[i] = 0.5f * x[i] * (1 + tanh_of_gelu(x[i])); }); break;
  }
}

void activation_gradient(const Activation& a, std::span<const float> x, int64_t channels, std::span<float> dy) {
  const auto count = static_cast<int64_t>(x.size());
  switch (a.kind) {
    case Kind::kNone: break;
    case Kind::kClip: for_each(count, [&](size_t i) { dy[i] = x[i] > a.low && x[i] < a.high ? dy[i] : 0.0f; }); break;
    case Kind::kLeakyRelu:
      for_each(count, [&](size_t i) { dy[i] *= x[i] < 0 ? slope_at(a, i, channels) : 1.0f; });
      break;
    case Kind::kHardSigmoid:
      for_each(count, [&](size_t i) {
        const float line = a.low * x[i] + a.high;
        dy[i] = line > 0 && line < 1 ? dy[i] * a.low : 0.0f;
      });
      break;
    case Kind::kHardSwish:
      for_each(count, [&](size_t i) { dy[i] *= x[i] <= -3 ? 0.0f : x[i] >= 3 ? 1.0f : x[i] / 3 + 0.5f; });
      break;
    case Kind::kTanh:
      for_each(count, [&](size_t i) {
        const float t = std::tanh(x[i]);
        dy[i] *= 1 - t * t;
      });
      break;
    case Kind::kSigmoid:
      for_each(count, [&](size_t i) {
        const float s = sigmoid(x[i]);
        dy[i] *= s * (1 - s);
      });
      break;
    case Kind::kGelu:
      for_each(count, [&](size_t i) {
        const float share = 0.5f * (1 + std::erf(x[i] * kRootHalf));
        dy[i] *= share + x[i] * kNormalDensity * std::exp(-0.5f * x[i] * x[i]);
      });
      break;
    case Kind::kTanhGelu:
      for_each(count, [&](size_t i) {
        const float t = tanh_of_gelu(x[i]);
        const float inner = kRootTwoOverPi * (1 + 3 * kCubic * x[i] * x[i]);
        dy[i] *= 0.5f * (1 + t) + 0.5f * x[i] * (1 - t * t) * inner;
      });
      break;
  }
}

}  // namespace quarkq::planning::finetune
