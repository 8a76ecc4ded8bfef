// SPDX-License-Identifier: MIT
// NumPy's float32 sum: blocks of at most 128 terms with eight accumulators, halves above
// (ref:calibration#numpy-primitives).
#pragma once

#include <cstdint>

namespace quarkq::calib {

/// Sum of term(begin) .. term(begin + count - 1).
template <typename Term>
float pairwise_sum(int64_t begin, int64_t count, const Term& term) {
  if (count < 8) {
    float sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += term(begin + i);
    return sum;
  }
  if (count > 128) {
    const int64_t half = count / 2 - count / 2 % 8;
    return pairwise_sum(begin, half, term) + pairwise_sum(begin + half, count - half, term);
  }
  float sums[8];
  const int64_t whole = count - count % 8;
  for (int64_t lane = 0; lane < 8; ++lane) sums[lane] = term(begin + lane);
  for (int64_t i = 8; i < whole; i += 8) {
    for (int64_t lane = 0; lane < 8; ++lane) sums[lane] += term(begin + i + lane);
  }
  float sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  for (int64_t i = whole; i < count; ++i) sum += term(begin + i);
  return sum;
}

}  // namespace quarkq::calib
