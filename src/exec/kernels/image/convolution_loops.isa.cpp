// SPDX-License-Identifier: MIT
#include "exec/kernels/image/image_loops.h"

#include <algorithm>

#include "exec/kernels/shared/simd_vector.h"

namespace quarkq::exec::QQ_ISA {
namespace {

using namespace simd;

/// The windows of the positions that are computed together. Behind the last position the last one is repeated.
template <int64_t kPositions>
struct Windows {
  const float* at[kPositions];

  Windows(const DirectRows& rows, int64_t first) {
    for (int64_t p = 0; p < kPositions; ++p) at[p] = rows.padded + rows.starts[std::min(first + p, rows.count - 1)];
  }
};

/// Sums of `kPositions` positions and of `kVectors` vectors of output channels, from `channel` on.
template <int64_t kPositions, int64_t kVectors>
void sum_tile(const DirectRows& rows, int64_t first, int64_t channel, float* y) {
  const Windows<kPositions> windows(rows, first);
  const int64_t block = channel / kOutputBlock, part = channel % kOutputBlock;
  const int64_t size = rows.run_count * rows.run_length * kOutputBlock;
  const float* w = rows.weights + block * size + part;
  Vector sums[kPositions][kVectors];
  for (int64_t v = 0; v < kVectors; ++v) {
    const Vector bias = load(rows.bias + channel + v * kVectorFloats);
    for (int64_t p = 0; p < kPositions; ++p) sums[p][v] = bias;
  }
  for (int64_t r = 0; r < rows.run_count; ++r) {
    const int64_t begin = rows.runs[r], end = begin + rows.run_length;
    for (int64_t i = begin; i < end; ++i, w += kOutputBlock) {
      Vector weights[kVectors];
      for (int64_t v = 0; v < kVectors; ++v) weights[v] = load(w + v * kVectorFloats);
      for (int64_t p = 0; p < kPositions; ++p) {
        const Vector value = broadcast(windows.at[p][i]);
        for (int64_t v = 0; v < kVectors; ++v) sums[p][v] = multiply_add(value, weights[v], sums[p][v]);
      }
    }
  }
  const int64_t count = std::min(kPositions, rows.count - first);
  for (int64_t p = 0; p < count; ++p) {
    float* row = y + (first + p) * rows.outputs + channel;
    for (int64_t v = 0; v < kVectors; ++v) {
      const int64_t left = std::clamp<int64_t>(rows.outputs - channel - v * kVectorFloats, 0, kVectorFloats);
      if (left == kVectorFloats) {
        store(row + v * kVectorFloats, sums[p][v]);
      } else {
        store_first(row + v * kVectorFloats, sums[p][v], left);
      }
    }
  }
}

constexpr int64_t kPieces = kInputBlock / kVectorFloats;  ///< vectors per block of input channels

/// Sums of `kPositions` positions and of all output channels.
template <int64_t kPositions, int64_t kOutputs>
void sum_few_tile(const DirectRows& rows, int64_t first, float* y) {
  const Windows<kPositions> windows(rows, first);
  const float* w = rows.weights;
  Vector sums[kPositions][kOutputs] = {};
  for (int64_t r = 0; r < rows.run_count; ++r) {
    const int64_t begin = rows.runs[r], end = begin + rows.run_length;
    for (int64_t i = begin; i < end; i += kInputBlock, w += kOutputs * kInputBlock) {
      for (int64_t piece = 0; piece < kPieces; ++piece) {
        Vector values[kPositions];
        for (int64_t p = 0; p < kPositions; ++p) values[p] = load(windows.at[p] + i + piece * kVectorFloats);
        for (int64_t o = 0; o < kOutputs; ++o) {
          const Vector weight = load(w + o * kInputBlock + piece * kVectorFloats);
          for (int64_t p = 0; p < kPositions; ++p) sums[p][o] = multiply_add(values[p], weight, sums[p][o]);
        }
      }
    }
  }
  const int64_t count = std::min(kPositions, rows.count - first);
  for (int64_t p = 0; p < count; ++p) {
    for (int64_t o = 0; o < kOutputs; ++o)
      y[(first + p) * kOutputs + o] = rows.bias[o] + join(sums[p][o], [](auto a, auto b) { return a + b; });
  }
}

template <int64_t kPositions, int64_t kOutputs>
void sum_few(const DirectRows& rows, float* y) {
  for (int64_t first = 0; first < rows.count; first += kPositions) sum_few_tile<kPositions, kOutputs>(rows, first, y);
}

}  // namespace

void sum_outputs(const DirectRows& rows, int64_t begin, int64_t end, float* y) {
  constexpr int64_t kVectors = std::min<int64_t>(2, kOutputBlock / kVectorFloats);
  constexpr int64_t kPositions = 12 / kVectors;  // 12 sums, 2 vectors of weights and a value: 16 registers
  for (int64_t channel = begin; channel < end; channel += kVectors * kVectorFloats) {
    for (int64_t first = 0; first < rows.count; first += kPositions) {
      if (end - channel > kVectorFloats) {
        sum_tile<kPositions, kVectors>(rows, first, channel, y);
      } else {
        sum_tile<kPositions, 1>(rows, first, channel, y);
      }
    }
  }
}

void sum_few_outputs(const DirectRows& rows, float* y) {
  switch (rows.outputs) {
    case 1: return sum_few<6, 1>(rows, y);
    case 2: return sum_few<6, 2>(rows, y);
    case 3: return sum_few<4, 3>(rows, y);
    default: return sum_few<3, 4>(rows, y);
  }
}

}  // namespace quarkq::exec::QQ_ISA
