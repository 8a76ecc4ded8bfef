// SPDX-License-Identifier: MIT
#include "calib/observe_loops.h"

#include <bit>
#include <cstring>
#include <limits>

namespace quarkq::calib::QQ_ISA {
namespace {

constexpr uint32_t kExponentMask = 0x7F800000;

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

/// The slow way, for tensors that hold NaN or infinities.
Extremes find_finite_extremes(const float* values, int64_t count) {
  Extremes found{std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest(), 0, 0};
  for (int64_t i = 0; i < count; ++i) {
    if ((bits_of(values[i]) & kExponentMask) == kExponentMask) {
      ++found.not_finite;
      continue;
    }
    found.min = values[i] < found.min ? values[i] : found.min;
    found.max = values[i] > found.max ? values[i] : found.max;
  }
  found.finite = count - found.not_finite;
  return found;
}

}  // namespace

Extremes find_extremes(const float* values, int64_t count) {
  float low = std::numeric_limits<float>::max(), high = std::numeric_limits<float>::lowest();
  uint32_t exponents = 0;  // the largest exponent field, in place
#pragma omp simd reduction(min : low) reduction(max : high, exponents)
  for (int64_t i = 0; i < count; ++i) {
    const float value = values[i];
    low = value < low ? value : low;
    high = value > high ? value : high;
    const uint32_t exponent = bits_of(value) & kExponentMask;
    exponents = exponent > exponents ? exponent : exponents;
  }
  if (exponents == kExponentMask) return find_finite_extremes(values, count);
  return {low, high, count, 0};
}

int64_t count_bins(const float* values, int64_t count, BinRow* const* rows) {
  // Zeros are frequent behind a Relu. Counting them all in one bin would chain every increment to the one before it, so
  // they are spread over a few places that nobody looks at and counted on the side.
  uint32_t spread[16] = {};
  int64_t zeros = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = bits_of(values[i]);
    const bool is_zero = (bits << 1) == 0;
    zeros += is_zero;
    uint32_t* bin = is_zero ? &spread[i & 15] : &rows[bits >> 23]->count[(bits >> (23 - kMantissaBits)) & (kBinsPerRow - 1)];
    ++*bin;
  }
  return zeros;
}

void find_rows(const float* values, int64_t count, uint8_t* used) {
  for (int64_t i = 0; i < count; ++i) used[bits_of(values[i]) >> 23] = 1;
}

}  // namespace quarkq::calib::QQ_ISA
