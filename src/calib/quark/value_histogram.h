// SPDX-License-Identifier: MIT
// ValueHistogram: what the percentile methods, Entropy and Distribution remember of a tensor; histograms A and
// B (ref:calibration#histogram-of-magnitudes, ref:calibration#histogram-of-signed-values). Both grow when a later
// sample exceeds the first one.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "calib/method_options.h"
#include "calib/uniform_histogram.h"
#include "numeric/quant_params.h"

namespace quarkq::calib {

// What the reference does to a fetched tensor before a histogram or MinMSE sees it (ref:calibration#non-finite-values),
// and its caching of samples as float16.

/// One sample's tensor without NaN, and its extremes; zeros when it is empty.
struct CleanSample {
  std::span<const float> values;  ///< the tensor itself when nothing had to be changed, else `repaired`
  numeric::Range extremes;
  std::vector<float> repaired;

  bool has_infinity() const { return std::isinf(extremes.min) || std::isinf(extremes.max); }
  /// Largest magnitude.
  float reach() const { return std::max(std::abs(extremes.min), std::abs(extremes.max)); }
};

enum class SampleCache { kNone, kHalf };

/// NaN becomes 0, and everything does when no value is finite. Infinities beside a finite value stay: the reference
/// means to replace them by the largest value, which is the infinity itself.
/// kHalf then rounds to float16, where magnitudes of 65520 and more become infinite.
CleanSample clean_sample(std::span<const float> values, SampleCache cache = SampleCache::kNone);

/// EdgeList: the edges of histogram A. Equally spaced ones, then for each sample that exceeded them a run that NumPy's
/// arange made: in double, from two float32 numbers. The runs are kept as formulas.
class EdgeList {
 public:
  EdgeList(const UniformEdges<float>& start, bool half) : bins(start.bins), start_(start), half_(half) {}

  /// Edge i in the order of edges, 0 <= i <= bins. A run just appended is exact until round_runs().
  double operator()(int64_t i) const;
  /// About where `x` lies, within [0, bins).
  int64_t guess(double x) const;

  /// Appends edges as wide as the first bin until `largest` is about reached. Rounding may leave it outside. Fails when
  /// that takes too many.
  Status grow(float largest);
  /// Rounds the last run to the tensor's type, as the reference stores it.
  void round_runs();

  int64_t bins;

 private:
  struct Run {
    int64_t index;       ///< of its first edge
    double first, step;  ///< edge index + i is first + i * step
    bool rounded;
  };
  float rounded(float x) const { return half_ ? rounded_to_half(x) : x; }

  UniformEdges<float> start_;
  bool half_;
  std::vector<Run> runs_;
};

class ValueHistogram {
 public:
  virtual ~ValueHistogram() = default;
  /// Adds a sample's tensor. Fails where NumPy does: an infinity, bins too narrow, too many bins.
  virtual Status add(const CleanSample& sample) = 0;
  virtual int64_t bins() const = 0;
  /// REQUIRES: a sample was added, 0 <= i <= bins().
  virtual float edge(int64_t i) const = 0;

  const BinCounts& counts() const { return counts_; }
  /// Smallest and largest value of all samples; an empty sample counts as a zero.
  const numeric::Range& seen() const { return seen_; }

 protected:
  void widen(const numeric::Range& extremes);

  BinCounts counts_;
  numeric::Range seen_;
  bool has_sample_ = false;
};

/// Histogram A: of magnitudes, from the least magnitude of the first sample on.
std::unique_ptr<ValueHistogram> make_histogram_abs(int64_t bins, bool is_half);
/// Histogram B: of signed values, symmetric about zero.
std::unique_ptr<ValueHistogram> make_histogram_signed(int64_t bins, bool is_half);
/// A when the range is symmetric, else B; 2048 bins unless the options say otherwise.
std::unique_ptr<ValueHistogram> make_percentile_histogram(const MethodOptions& options);

/// The range that leaves out what `percentile` leaves out, within the values seen (ref:calibration#percentiles). Its
/// ends are left edges of bins. REQUIRES: a sample was added.
numeric::Range percentile_range(const ValueHistogram& histogram, bool symmetric, double percentile);
/// `range` cut to the values that the histogram has seen.
numeric::Range within_seen(const ValueHistogram& histogram, numeric::Range range);
/// Fails unless 0 <= percentile <= 100.
Status check_percentile(double percentile);

}  // namespace quarkq::calib
