// SPDX-License-Identifier: MIT
#include "calib/observe_loops.h"

#include <bit>
#include <limits>

namespace quarkq::calib::QQ_ISA {
namespace {

constexpr uint32_t kExponentMask = 0x7F800000;
constexpr uint32_t kMagnitudeMask = 0x7FFFFFFF;
constexpr uint32_t kZeroPlaces = 16;
constexpr int64_t kBlock = 1024;

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

/// The slow path, for values that include NaN or infinities.
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

/// Extremes of all values, and their bins when kWithBins.
template <bool kWithBins>
Extremes find(const float* values, int64_t count, uint32_t* bins) {
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
    if constexpr (kWithBins) {
      const uint32_t nowhere = kInfinityBin + (static_cast<uint32_t>(i) & (kZeroPlaces - 1));
      bins[i] = magnitude == 0 ? nowhere : bits_of(value) >> kBinShift;
    }
  }
  if (largest >= kExponentMask) return find_finite_extremes(values, count);
  return {low, high, count, 0, smallest == 0xFFFFFFFF ? smallest : smallest + 1};
}

void add(const Extremes& part, Extremes& all) {
  if (part.finite > 0) {
    all.min = all.finite == 0 || part.min < all.min ? part.min : all.min;
    all.max = all.finite == 0 || part.max > all.max ? part.max : all.max;
  }
  all.finite += part.finite;
  all.not_finite += part.not_finite;
  all.smallest = part.smallest < all.smallest ? part.smallest : all.smallest;
}

}  // namespace

Extremes find_extremes(const float* values, int64_t count) { return find<false>(values, count, nullptr); }

Extremes count_bins(const float* values, int64_t count, uint16_t* table, Carries& carries) {
  uint32_t bins[kBlock];
  Extremes all;
  uint32_t* carried = carries.bins;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t part = count - begin < kBlock ? count - begin : kBlock;
    add(find<true>(values + begin, part, bins), all);
#pragma GCC unroll 16  // 0.25 instead of 0.34 ns a value: one increment per cycle is the limit of the machine
    for (int64_t i = 0; i < part; ++i) {
      if (++table[bins[i]] == 0) [[unlikely]]
        *carried++ = bins[i];
    }
  }
  carries.count = static_cast<int>(carried - carries.bins);
  return all;
}

}  // namespace quarkq::calib::QQ_ISA
