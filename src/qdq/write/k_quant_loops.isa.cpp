// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "qdq/write/nbits_blocks.h"

namespace quarkq::qdq::QQ_ISA {

BlockSpread measure_block(std::span<const float> values) {
  constexpr size_t kLanes = 16;
  float low[kLanes] = {}, high[kLanes] = {}, squares[kLanes] = {};
  for (size_t i = 0; i < values.size(); i += kLanes) {
    const size_t count = std::min(kLanes, values.size() - i);
#pragma omp simd
    for (size_t lane = 0; lane < count; ++lane) {
      const float value = values[i + lane];
      low[lane] = std::min(low[lane], value);
      high[lane] = std::max(high[lane], value);
      squares[lane] += value * value;
    }
  }
  BlockSpread spread;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    spread.low = std::min(spread.low, low[lane]);
    spread.high = std::max(spread.high, high[lane]);
    spread.squares += squares[lane];
  }
  return spread;
}

void weigh_block(std::span<const float> values, std::span<const float> importance, float typical, float* weights) {
  float most = 0;
#pragma omp simd reduction(max : most)
  for (size_t i = 0; i < values.size(); ++i) {
    const float factor = importance.empty() ? 1.0f : importance[i];
    weights[i] = (typical + std::abs(values[i])) * factor;
    most = std::max(most, weights[i]);
  }
  const float inverse = 1.0f / most;
#pragma omp simd
  for (size_t i = 0; i < values.size(); ++i) weights[i] *= inverse;
}

void divide_block(std::span<const float> values, float unit, float* steps) {
  const float inverse = 1.0f / unit;
#pragma omp simd
  for (size_t i = 0; i < values.size(); ++i) steps[i] = values[i] * inverse;
}

void try_grids(const BlockSteps& block, const GridTrials& trials, GridErrors& found) {
  constexpr int kCount = GridTrials::kCount;
  float inverse[kCount], errors[kCount] = {}, products[kCount] = {}, squares[kCount] = {};
  for (int t = 0; t < kCount; ++t) inverse[t] = 1.0f / trials.factor[t];
  for (size_t i = 0; i < block.steps.size(); ++i) {
    const float value = block.steps[i], weight = block.weights[i];
#pragma omp simd
    for (int t = 0; t < kCount; ++t) {
      const float wanted = value * inverse[t] + trials.zero[t];
      const float code = std::min(std::max(std::rint(wanted), 0.0f), block.largest);
      const float step = code - trials.zero[t], rest = wanted - code;
      errors[t] += weight * rest * rest;
      products[t] += weight * rest * step;
      squares[t] += weight * step * step;
    }
  }
  // Sums of rests instead of values keep their digits when 8 bits leave almost no error.
  for (int t = 0; t < kCount; ++t) {
    const float unit = trials.factor[t] * trials.factor[t], gain = products[t] / squares[t];
    found.least[t] = unit * (errors[t] - products[t] * gain);
    found.factor[t] = trials.factor[t] * (1.0f + gain);
    found.stored[t] = unit * errors[t];
  }
}

void round_block(std::span<const float> values, const BlockGrid& grid, float largest, uint8_t* codes) {
  if (grid.scale == 0) {
    std::fill_n(codes, values.size(), static_cast<uint8_t>(grid.zero));
    return;
  }
#pragma omp simd
  for (size_t i = 0; i < values.size(); ++i) {
    const float code = std::rint(values[i] / grid.scale + grid.zero);
    codes[i] = static_cast<uint8_t>(code > 0 ? std::min(code, largest) : 0.0f);
  }
}

}  // namespace quarkq::qdq::QQ_ISA
