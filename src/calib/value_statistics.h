// SPDX-License-Identifier: MIT
// ValueStatistics: the statistics that calibration keeps of one tensor. Extremes per sample, and integer counts in
// fixed bins (sign, exponent, 9 leading mantissa bits: neighbouring bin edges differ by at most 0.2 %). No float is
// ever summed over samples, so order, batching, threads and shards cannot change it (ADR 0006).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "calib/observe_loops.h"
#include "numeric/quant_params.h"

namespace quarkq::calib {

// BinTable: the bins of one tensor as one thread counts them.

/// Values that fell into one bin. Zeros of both signs are one bin, number 0.
struct BinCount {
  uint32_t bin = 0;  ///< bits of its values >> kBinShift
  uint64_t count = 0;
  bool operator==(const BinCount&) const = default;
};

class BinTable {
 public:
  /// Counts values and gives their extremes; those that are not finite are left out. REQUIRES: count <= kMaxCounted.
  Extremes count(const float* values, int64_t count);

  /// Bins that occur, by ascending number. The table is empty afterwards.
  std::vector<BinCount> take();

 private:
  struct Free {
    void operator()(uint16_t* block) const { std::free(block); }
  };

  // Every bin there is has an entry; the system gives memory only to pages that are touched, those of exponents that
  // occur.
  std::unique_ptr<uint16_t, Free> table_;
  std::map<uint32_t, uint64_t> overflows_;        ///< bin -> how often its entry went past 65535
  uint32_t lowest_ = kInfinityBin, highest_ = 0;  ///< bins of the smallest and largest magnitude
  uint64_t finite_ = 0;
};

/// The sum of two lists, each by ascending bin number.
std::vector<BinCount> add_bins(const std::vector<BinCount>& a, const std::vector<BinCount>& b);

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

// Quantiles from bins: inside the bin that holds the exact quantile, so within 0.2 % of it (ADR 0006).

/// The smallest magnitude that at least `percent` % of all magnitudes do not exceed. Exact where it is the largest one.
/// REQUIRES: 0 <= percent <= 100.
float magnitude_quantile(const ValueStatistics& statistics, double percent);

/// The smallest value that at least the share `fraction` of all values does not exceed. Exact where it is the smallest
/// or the largest one. REQUIRES: 0 <= fraction <= 1.
float value_quantile(const ValueStatistics& statistics, double fraction);

/// The range that keeps `percent` % of the values (ref:calibration#percentiles): symmetric ones by magnitude, others
/// with half of the rest cut at either end; never beyond the observed extremes.
numeric::Range percentile_range(const ValueStatistics& statistics, double percent, bool symmetric);

/// How far the values of a tensor lie from a quantization grid, from its bins.
struct GridError {
  double absolute = 0;  ///< sum over all values of |value - nearest step|
  double squared = 0;   ///< sum of the squares
};

/// A bin's values count as its middle while bins are finer than the grid. Where the grid is finer (16 bits), the middle
/// of every bin is a grid point, which would hide all rounding: there the values count as spread evenly, with a mean
/// error of scale / 4 and a mean square of scale^2 / 12. REQUIRES: scale > 0.
GridError grid_error(const std::vector<WeightedValue>& values, numeric::IntegerRange limits, int32_t zero_point,
                     float scale);

}  // namespace quarkq::calib
