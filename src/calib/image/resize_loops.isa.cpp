// SPDX-License-Identifier: MIT
#include "calib/image/resize_loops.h"

namespace quarkq::calib::QQ_ISA {
namespace {

constexpr int32_t kHalf = 1 << (kWeightBits - 1);

uint8_t clip(int32_t sum) {
  const int32_t value = sum >> kWeightBits;
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

template <int kChannels>
void resize_row_of(const uint8_t* row, const FixedTaps& taps, uint8_t* out) {
  for (int64_t i = 0; i < taps.size; ++i) {
    const uint8_t* pixel = row + int64_t{taps.first[i]} * kChannels;
    const int32_t* weights = taps.weights + i * taps.stride;
    const int32_t count = taps.count[i];
    int32_t sums[kChannels];
    for (int c = 0; c < kChannels; ++c) sums[c] = kHalf;
    for (int32_t t = 0; t < count; ++t, pixel += kChannels) {
      for (int c = 0; c < kChannels; ++c) sums[c] += weights[t] * pixel[c];
    }
    for (int c = 0; c < kChannels; ++c) out[i * kChannels + c] = clip(sums[c]);
  }
}

}  // namespace

void resize_row(const uint8_t* row, const FixedTaps& taps, int64_t channels, uint8_t* out) {
  if (channels == 1) return resize_row_of<1>(row, taps, out);
  if (channels == 3) return resize_row_of<3>(row, taps, out);
  return resize_row_of<4>(row, taps, out);
}

void blend_rows(const uint8_t* rows, int64_t row_bytes, const int32_t* weights, int64_t count, uint8_t* out) {
  constexpr int64_t kBlock = 256;
  int32_t sums[kBlock];
  for (int64_t begin = 0; begin < row_bytes; begin += kBlock) {
    const int64_t part = row_bytes - begin < kBlock ? row_bytes - begin : kBlock;
    for (int64_t i = 0; i < part; ++i) sums[i] = kHalf;
    for (int64_t t = 0; t < count; ++t) {
      const uint8_t* row = rows + t * row_bytes + begin;
      const int32_t weight = weights[t];
#pragma omp simd
      for (int64_t i = 0; i < part; ++i) sums[i] += weight * row[i];
    }
#pragma omp simd
    for (int64_t i = 0; i < part; ++i) out[begin + i] = clip(sums[i]);
  }
}

}  // namespace quarkq::calib::QQ_ISA
