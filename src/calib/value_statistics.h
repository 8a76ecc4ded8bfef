// SPDX-License-Identifier: MIT
// ValueStatistics: what calibration remembers of one tensor. Extremes per sample, and integer counts in fixed bins (sign,
// exponent, 9 leading mantissa bits: neighbouring bin edges differ by at most 0.2 %). No float is ever summed over samples,
// so order, batching and threads cannot change it (design section 6).
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "calib/observe_loops.h"
#include "numeric/range_to_params.h"

namespace quarkq::calib {

/// One bin that occurs: its middle value and how many values fell into it.
struct WeightedValue {
  float value = 0;
  uint64_t count = 0;
};

class ValueStatistics {
 public:
  explicit ValueStatistics(bool with_bins) : with_bins_(with_bins) {}

  /// Adds one sample's tensor. Non-finite values are counted and left out.
  void add(const float* values, int64_t count);

  uint64_t count() const { return count_; }            ///< finite values
  uint64_t not_finite() const { return not_finite_; }
  /// Smallest and largest finite value of all samples; zeros when there was none.
  numeric::Range extremes() const { return count_ == 0 ? numeric::Range{} : extremes_; }
  /// Extremes of each sample, in sample order. Samples without a finite value have none.
  const std::vector<numeric::Range>& samples() const { return samples_; }
  /// Bins that occur, from the most negative value up. Empty without bins.
  std::vector<WeightedValue> bins() const;

 private:
  using Rows = std::array<std::unique_ptr<BinRow>, kRows>;
  void count_finite(const float* values, int64_t count);
  void empty_rows();

  bool with_bins_;
  uint64_t count_ = 0, not_finite_ = 0, zeros_ = 0;
  numeric::Range extremes_;
  std::vector<numeric::Range> samples_;
  std::vector<Rows> rows_;  ///< one per thread
  uint64_t pending_ = 0;    ///< values counted since the 32-bit counters were emptied
  std::array<std::unique_ptr<std::array<uint64_t, kBinsPerRow>>, kRows> totals_;
};

}  // namespace quarkq::calib
