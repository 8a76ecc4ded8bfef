// SPDX-License-Identifier: MIT
// OrderStatistics: exact percentiles of numbers that are observed twice instead of being kept. The first pass counts
// the upper halves of order-preserving keys, the second the lower halves of the few keys wanted.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "calib/bin_counts.h"

namespace quarkq::calib {

class OrderStatistics {
 public:
  /// The percentiles that count_lower() is to find.
  explicit OrderStatistics(std::vector<double> percentiles) : percentiles_(std::move(percentiles)) {}

  /// First pass. REQUIRES: no NaN.
  void count_upper(float x) { upper_.add(key_of(x) >> 16); }
  int64_t count() const { return upper_.total(); }
  /// Between the passes. REQUIRES: count() > 0.
  void choose();
  /// Second pass, over the same numbers.
  void count_lower(float x) {
    const uint32_t key = key_of(x);
    const auto found = lower_.find(key >> 16);
    if (found != lower_.end()) found->second.add(key & 0xFFFF);
  }
  /// NumPy's percentile number `index` with linear interpolation in float32 (ref:calibration#numpy-primitives).
  float percentile(size_t index) const;

 private:
  /// Keys are ordered as the numbers are.
  static uint32_t key_of(float x);
  static float number_of(uint32_t key);
  /// Where a percentile lies: `fraction` of the way from rank `rank` to the next.
  struct Place {
    int64_t rank = 0;
    double fraction = 0;
    bool is_largest = false;
  };
  Place place_of(double percentile) const;
  float at_rank(int64_t rank) const;

  std::vector<double> percentiles_;
  BinCounts upper_;
  std::map<uint32_t, BinCounts> lower_;  ///< by upper half
};

}  // namespace quarkq::calib
