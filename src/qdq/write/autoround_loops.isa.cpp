// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "qdq/write/nbits_learned.h"

namespace quarkq::qdq::QQ_ISA {
namespace {

/// The inverse of a scale; 0 for blocks without one.
inline float inverse_of(float scale) { return scale != 0 ? 1.0f / scale : 0.0f; }

/// Number of steps from the lowest code before rounding. NaN becomes 0.
inline float steps_of(float weight, float inverse, float zero, float offset) {
  const float steps = weight * inverse + zero + offset;
  return steps > -1e6f ? std::min(steps, 1e6f) : 0.0f;
}

}  // namespace

void round_with_offsets(const RoundingPiece& p) {
  for (int64_t k = 0; k < p.depth; ++k) {
    const float *scale = p.scale + k / p.block * p.columns, *zero = p.zero + k / p.block * p.columns;
    const int64_t row = k * p.columns;
#pragma omp simd
    for (int64_t c = 0; c < p.columns; ++c) {
      const float weight = p.weight[row + c];
      const float steps = std::rint(steps_of(weight, inverse_of(scale[c]), zero[c], p.offsets[row + c]));
      const float code = std::min(std::max(steps, 0.0f), p.largest);
      p.codes[row + c] = static_cast<uint8_t>(code);
      p.error[row + c] = (code - zero[c]) * scale[c] - weight;
    }
  }
}

void column_losses(const RoundingPiece& p, const float* products, double* losses) {
  std::fill_n(losses, p.columns, 0.0);
  for (int64_t k = 0; k < p.depth; ++k) {
    const int64_t row = k * p.columns;
#pragma omp simd
    for (int64_t c = 0; c < p.columns; ++c)
      losses[c] += static_cast<double>(p.error[row + c]) * static_cast<double>(products[row + c]);
  }
}

void move_offsets(const RoundingPiece& p, const RoundingGradient& gradient, float rate) {
  const int64_t blocks = (p.depth + p.block - 1) / p.block;
  std::fill_n(gradient.scale, blocks * p.columns, 0.0f);
  std::fill_n(gradient.zero, blocks * p.columns, 0.0f);
  for (int64_t k = 0; k < p.depth; ++k) {
    const int64_t row = k * p.columns, grid = k / p.block * p.columns;
#pragma omp simd
    for (int64_t c = 0; c < p.columns; ++c) {
      const float scale = p.scale[grid + c], zero = p.zero[grid + c], inverse = inverse_of(scale);
      const float weight = p.weight[row + c], steps = steps_of(weight, inverse, zero, p.offsets[row + c]);
      const float inside = steps > -0.5f && steps < p.largest + 0.5f ? 1.0f : 0.0f;
      const float product = gradient.products[row + c], slope = product * scale * inside;
      const float direction = slope > 0 ? 1.0f : slope < 0 ? -1.0f : 0.0f;
      p.offsets[row + c] = std::min(std::max(p.offsets[row + c] - rate * direction, -0.5f), 0.5f);
      const float distance = static_cast<float>(p.codes[row + c]) - zero;
      gradient.scale[grid + c] += product * (distance - inside * weight * inverse);
      gradient.zero[grid + c] -= product * scale * (1.0f - inside);
    }
  }
}

bool move_codes(const RoundingPiece& p, const float* products, RoundingRow at, float* moved) {
  const int64_t row = at.row * p.columns;
  const float* const scale = p.scale + at.row / p.block * p.columns;
  float most = 0;
#pragma omp simd reduction(max : most)
  for (int64_t c = 0; c < p.columns; ++c) {
    const float code = static_cast<float>(p.codes[row + c]);
    const float wanted = code - products[c] / at.moment * inverse_of(scale[c]);
    const float steps = std::rint(wanted > 0.0f ? std::min(wanted, p.largest) : 0.0f);
    // NaN and ties keep the code, so that the loss falls with every move.
    const float kept = std::abs(wanted - code) > 0.5001f ? steps : code;
    const float change = (kept - code) * scale[c];
    p.codes[row + c] = static_cast<uint8_t>(kept);
    p.error[row + c] += change;
    moved[c] = change;
    most = std::max(most, std::abs(change));
  }
  return most > 0;
}

}  // namespace quarkq::qdq::QQ_ISA
