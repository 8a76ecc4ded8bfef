// SPDX-License-Identifier: MIT
// ValueStatistics: what calibration remembers of one tensor. Extremes per sample, and integer counts in fixed bins
// (sign, exponent, 9 leading mantissa bits: neighbouring bin edges differ by at most 0.2 %). No float is ever summed
// over samples, so order, batching and threads cannot change it (design section 6).
#pragma once

#include <cstdint>
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

  uint64_t count() const { return count_; }  ///< finite values
  uint64_t not_finite() const { return not_finite_; }
  /// Smallest and largest finite value of all samples; zeros when there was none.
  numeric::Range extremes() const { return count_ == 0 ? numeric::Range{} : extremes_; }
  /// Extremes of each sample, in sample order. Samples without a finite value have none.
  const std::vector<numeric::Range>& samples() const { return samples_; }
  /// Bins that occur, from the most negative value up. Empty without bins.
  std::vector<WeightedValue> bins() const;

 private:
  void count_finite(const float* values, int64_t count, const Extremes& found);
  void widen(const Extremes& found);
  void empty_tables();

  bool with_bins_;
  uint64_t count_ = 0, not_finite_ = 0, zeros_ = 0;
  numeric::Range extremes_;
  std::vector<numeric::Range> samples_;
  BinRange range_;                             ///< bins that the tables have room for
  std::vector<std::vector<uint32_t>> tables_;  ///< one per thread
  uint64_t pending_ = 0;                       ///< values counted since the 32-bit tables were emptied
  std::vector<uint64_t> totals_;               ///< 2 * range_.count entries, once the tables were emptied
};

}  // namespace quarkq::calib
