// SPDX-License-Identifier: MIT
// ValueStatistics: the statistics that calibration keeps of one tensor. Extremes per sample, and integer counts in
// fixed bins (sign, exponent, 9 leading mantissa bits: neighbouring bin edges differ by at most 0.2 %). No float is
// ever summed over samples, so order, batching, threads and shards cannot change it (ADR 0006).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "calib/bin_table.h"
#include "numeric/range_to_params.h"

namespace quarkq::calib {

/// One bin that occurs: its middle value, its width and how many values fell into it. Zeros have width 0.
struct WeightedValue {
  float value = 0;
  float width = 0;
  uint64_t count = 0;
};

/// One sample's part, by the number that the sample has in the data.
struct SampleRecord {
  uint64_t sample = 0;
  uint64_t finite = 0, not_finite = 0;
  numeric::Range range;  ///< of the finite values; zeros when there is none
  bool operator==(const SampleRecord&) const = default;
};

class ValueStatistics {
 public:
  explicit ValueStatistics(bool with_bins) : with_bins_(with_bins) {}
  /// What a file holds. REQUIRES: records by ascending sample, bins by ascending number.
  ValueStatistics(bool with_bins, std::vector<SampleRecord> records, std::vector<BinCount> bins)
      : with_bins_(with_bins), records_(std::move(records)), totals_(std::move(bins)) {}
  /// A copy has what was seen so far, in the form that a file has it.
  ValueStatistics(const ValueStatistics& other)
      : votes(other.votes), with_bins_(other.with_bins_), records_(other.records_), totals_(other.bin_counts()) {}
  ValueStatistics(ValueStatistics&&) = default;
  ValueStatistics& operator=(ValueStatistics&&) = default;

  /// Adds the tensor of sample number `sample`. Non-finite values are counted and left out.
  void add(const float* values, int64_t count, uint64_t sample);
  /// Adds what was seen of other samples. REQUIRES: the same with_bins, no sample in common.
  void merge(ValueStatistics other);

  bool with_bins() const { return with_bins_; }
  uint64_t count() const;       ///< finite values
  uint64_t not_finite() const;  ///< NaN and infinities
  /// Smallest and largest finite value of all samples; zeros when there was none.
  numeric::Range extremes() const;
  /// By ascending sample.
  const std::vector<SampleRecord>& records() const { return records_; }

  /// Bins that occur, by ascending number. Empty without bins.
  const std::vector<BinCount>& bin_counts() const;
  /// The same as values, from the most negative up.
  std::vector<WeightedValue> bins() const;

  /// MinMSE's "MostCommon" mode: in how many samples each scale position was the best.
  std::map<int, uint64_t> votes;

 private:
  struct Part;
  void gather() const;

  bool with_bins_;
  std::vector<SampleRecord> records_;
  mutable std::vector<BinTable> tables_;  ///< one per thread
  mutable std::vector<BinCount> totals_;  ///< what was taken out of the tables
};

}  // namespace quarkq::calib
