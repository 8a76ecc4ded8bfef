// SPDX-License-Identifier: MIT
// The candidates of Entropy (ref:calibration#entropy): the distance between the counts of a range and their quantized
// form.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"

namespace quarkq::calib {

class DivergenceSearch {
 public:
  /// REQUIRES: quantized_bins > 0.
  DivergenceSearch(std::vector<int64_t> counts, int64_t quantized_bins);

  /// Returns the KL divergence in float32 of counts[begin, end), with the counts outside added to its ends, from their
  /// quantized form. Returns infinity if either has no count. Fails if the reference's smoothing asserts. REQUIRES:
  /// begin < end.
  Result<float> divergence(int64_t begin, int64_t end);

 private:
  int64_t sum(int64_t begin, int64_t end) const {
    return sums_[static_cast<size_t>(end)] - sums_[static_cast<size_t>(begin)];
  }
  void clip(int64_t begin, int64_t end);
  void quantize(int64_t begin, int64_t end);

  std::vector<int64_t> counts_, sums_;  ///< sums_[i] is the sum of the first i counts.
  int64_t quantized_bins_;
  std::vector<int64_t> clipped_, expanded_;
  std::vector<float> clipped_part_, expanded_part_;  ///< Parts of the whole, after smoothing.
};

}  // namespace quarkq::calib
