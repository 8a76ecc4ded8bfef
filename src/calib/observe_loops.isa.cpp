// SPDX-License-Identifier: MIT
#include "calib/observe_loops.h"

#include <bit>
#include <limits>

namespace quarkq::calib::QQ_ISA {
namespace {

constexpr uint32_t kExponentMask = 0x7F800000;

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

constexpr uint32_t kMagnitudeMask = 0x7FFFFFFF;

/// The slow way, for tensors that hold NaN or infinities.
Extremes find_finite_extremes(const float* values, int64_t count) {
  Extremes found;
  found.min = std::numeric_limits<float>::max();
  found.max = std::numeric_limits<float>::lowest();
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t magnitude = bits_of(values[i]) & kMagnitudeMask;
    if (magnitude >= kExponentMask) {
      ++found.not_finite;
      continue;
    }
    found.min = values[i] < found.min ? values[i] : found.min;
    found.max = values[i] > found.max ? values[i] : found.max;
    if (magnitude != 0 && magnitude < found.smallest) found.smallest = magnitude;
  }
  found.finite = count - found.not_finite;
  return found;
}

}  // namespace

Extremes find_extremes(const float* values, int64_t count) {
  float low = std::numeric_limits<float>::max(), high = std::numeric_limits<float>::lowest();
  uint32_t largest = 0, smallest = 0xFFFFFFFF;  // of the magnitudes' bits; zero counts as the largest there is
#pragma omp simd reduction(min : low, smallest) reduction(max : high, largest)
  for (int64_t i = 0; i < count; ++i) {
    const float value = values[i];
    low = value < low ? value : low;
    high = value > high ? value : high;
    const uint32_t magnitude = bits_of(value) & kMagnitudeMask;
    largest = magnitude > largest ? magnitude : largest;
    const uint32_t above_zero = magnitude - 1;  // zero wraps to the top
    smallest = above_zero < smallest ? above_zero : smallest;
  }
  if (largest >= kExponentMask) return find_finite_extremes(values, count);
  return {low, high, count, 0, smallest == 0xFFFFFFFF ? smallest : smallest + 1};
}

int64_t count_bins(const float* values, int64_t count, const BinRange& range, uint32_t* table) {
  constexpr int64_t kBlock = 256;
  uint32_t bins[kBlock];
  const uint32_t first = range.first, negative = range.count, nowhere = 2 * range.count;
  int64_t zeros = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t part = count - begin < kBlock ? count - begin : kBlock;
    uint32_t zeros_here = 0;
#pragma omp simd reduction(+ : zeros_here)
    for (int64_t i = 0; i < part; ++i) {
      const uint32_t bits = bits_of(values[begin + i]);
      const uint32_t magnitude = bits & kMagnitudeMask;
      const uint32_t bin = (magnitude >> kBinShift) - first + (bits >> 31) * negative;
      // Zeros are frequent behind a Relu. In one bin each increment would wait for the one before it, so they are
      // spread over places that nobody looks at and counted on the side.
      const uint32_t is_zero = magnitude == 0 ? 1 : 0;
      zeros_here += is_zero;
      bins[i] = is_zero != 0 ? nowhere + (static_cast<uint32_t>(i) & (BinRange::kZeroPlaces - 1)) : bin;
    }
    zeros += zeros_here;
    for (int64_t i = 0; i < part; ++i) ++table[bins[i]];
  }
  return zeros;
}

}  // namespace quarkq::calib::QQ_ISA
