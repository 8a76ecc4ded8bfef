// SPDX-License-Identifier: MIT
// ValueStatistics: the statistics of one tensor for calibration. Extremes per sample, and integer counts in fixed bins
// (sign, exponent, 9 leading mantissa bits: neighbouring bin edges differ by at most 0.2 %). No float is ever summed
// over samples, so order, batching, threads and shards cannot change it (ADR 0006).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "calib/observe_loops.h"
#include "numeric/quant_params.h"

namespace quarkq::calib {

// BinTable: the bins of one tensor, counted by one thread.

/// Number of values in one bin. Zeros of both signs are one bin, number 0.
struct BinCount {
  uint32_t bin = 0;  ///< Bits of its values >> kBinShift.
  uint64_t count = 0;
  bool operator==(const BinCount&) const = default;
};

class BinTable {
 public:
  /// Counts values and returns their extremes, ignoring non-finite values. REQUIRES: count <= kMaxCounted.
  Extremes count(const float* values, int64_t count);

  /// Returns the occurring bins by ascending number, and empties the table.
  std::vector<BinCount> take();

 private:
  struct Free {
    void operator()(uint16_t* block) const { std::free(block); }
  };

  // Has an entry for every possible bin. The system allocates only the pages that are touched, for occurring exponents.
  std::unique_ptr<uint16_t, Free> table_;
  std::map<uint32_t, uint64_t> overflows_;        ///< Number of times that the entry of a bin exceeded 65535.
  uint32_t lowest_ = kInfinityBin, highest_ = 0;  ///< Bins of the smallest and largest magnitude.
  uint64_t finite_ = 0;
};

/// Returns the sum of two lists, each by ascending bin number.
std::vector<BinCount> add_bins(const std::vector<BinCount>& a, const std::vector<BinCount>& b);

/// One occurring bin: its middle value, its width and its number of values. Zeros have width 0.
struct WeightedValue {
  float value = 0;
  float width = 0;
  uint64_t count = 0;
};

/// The part of one sample, by its number in the data.
struct SampleRecord {
  uint64_t sample = 0;
  uint64_t finite = 0, not_finite = 0;
  numeric::Range range;  ///< Range of the finite values; zeros if there is none.
  bool operator==(const SampleRecord&) const = default;
};

class ValueStatistics {
 public:
  explicit ValueStatistics(bool with_bins) : with_bins_(with_bins) {}
  /// Creates statistics from the contents of a file. REQUIRES: records by ascending sample, bins by ascending number.
  ValueStatistics(bool with_bins, std::vector<SampleRecord> records, std::vector<BinCount> bins)
      : with_bins_(with_bins), records_(std::move(records)), totals_(std::move(bins)) {}
  /// A copy contains the values seen so far, in the form of a file.
  ValueStatistics(const ValueStatistics& other)
      : votes(other.votes), with_bins_(other.with_bins_), records_(other.records_), totals_(other.bin_counts()) {}
  ValueStatistics(ValueStatistics&&) = default;
  ValueStatistics& operator=(ValueStatistics&&) = default;

  /// Adds the tensor of sample number `sample`. Non-finite values are counted and excluded.
  void add(const float* values, int64_t count, uint64_t sample);
  /// Adds statistics of other samples. REQUIRES: equal with_bins, no common sample.
  void merge(ValueStatistics other);

  bool with_bins() const { return with_bins_; }
  uint64_t count() const;       ///< Returns the number of finite values.
  uint64_t not_finite() const;  ///< Returns the number of NaN and infinities.
  /// Returns the smallest and largest finite value of all samples; zeros if there is none.
  numeric::Range extremes() const;
  /// Returns records by ascending sample.
  const std::vector<SampleRecord>& records() const { return records_; }

  /// Returns the occurring bins by ascending number; empty without bins.
  const std::vector<BinCount>& bin_counts() const;
  /// Returns the occurring bins as values, in ascending order.
  std::vector<WeightedValue> bins() const;

  /// MinMSE's "MostCommon" mode: number of samples for which each scale position was the best.
  std::map<int, uint64_t> votes;

 private:
  struct Part;
  void gather() const;

  bool with_bins_;
  std::vector<SampleRecord> records_;
  mutable std::vector<BinTable> tables_;  ///< One per thread.
  mutable std::vector<BinCount> totals_;  ///< Counts moved out of the tables.
};

// Quantiles from bins: inside the bin of the exact quantile, so within 0.2 % of it (ADR 0006).

/// Returns the smallest magnitude that at least `percent` % of all magnitudes do not exceed. Exact if it is the largest
/// one. REQUIRES: 0 <= percent <= 100.
float magnitude_quantile(const ValueStatistics& statistics, double percent);

/// Returns the smallest value that at least the share `fraction` of all values does not exceed. Exact if it is the
/// smallest or the largest one. REQUIRES: 0 <= fraction <= 1.
float value_quantile(const ValueStatistics& statistics, double fraction);

/// Returns the range that contains `percent` % of the values (ref:calibration#percentiles): symmetric ranges by
/// magnitude, others with half of the rest cut at either end; never beyond the observed extremes.
numeric::Range percentile_range(const ValueStatistics& statistics, double percent, bool symmetric);

/// Distance of a tensor's values from a quantization grid, computed from its bins.
struct GridError {
  double absolute = 0;  ///< Sum of |value - nearest step| over all values.
  double squared = 0;   ///< Sum of the squares.
};

/// While bins are finer than the grid, a bin's values count as its middle. If the grid is finer (16 bits), the middle
/// of every bin is a grid point, which would hide all rounding: values then count as uniformly distributed, with a mean
/// error of scale / 4 and a mean square of scale^2 / 12. REQUIRES: scale > 0.
GridError grid_error(const std::vector<WeightedValue>& values, numeric::IntegerRange limits, int32_t zero_point,
                     float scale);

}  // namespace quarkq::calib
