// SPDX-License-Identifier: MIT
// ValueHistogram: statistics of a tensor for the percentile methods, Entropy and Distribution; histograms A and B
// (ref:calibration#histogram-of-magnitudes, ref:calibration#histogram-of-signed-values). Both grow when a later sample
// exceeds the first one.
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

// Clean-up of a tensor in the reference before histograms and MinMSE (ref:calibration#non-finite-values), and its
// caching of samples as float16.

/// One sample's tensor without NaN, and its extremes; zeros if it is empty.
struct CleanSample {
  std::span<const float> values;  ///< The tensor itself if nothing was changed, otherwise `repaired`.
  numeric::Range extremes;
  std::vector<float> repaired;

  bool has_infinity() const { return std::isinf(extremes.min) || std::isinf(extremes.max); }
  /// Largest magnitude.
  float reach() const { return std::max(std::abs(extremes.min), std::abs(extremes.max)); }
};

enum class SampleCache { kNone, kHalf };

/// NaN becomes 0; if no value is finite, all values become 0. If there is a finite value, infinities are kept: the
/// reference intends to replace them by the largest value, which is the infinity itself. kHalf then rounds to float16,
/// where magnitudes of 65520 and more become infinite.
CleanSample clean_sample(std::span<const float> values, SampleCache cache = SampleCache::kNone);

/// EdgeList: the edges of histogram A. Equally spaced edges, then one run of NumPy's arange per sample that exceeded
/// them: in double, from two float32 numbers. The runs are stored as formulas.
class EdgeList {
 public:
  EdgeList(const UniformEdges<float>& start, bool half) : bins(start.bins), start_(start), half_(half) {}

  /// Returns edge i, 0 <= i <= bins. A run that was just appended is exact until round_runs().
  double operator()(int64_t i) const;
  /// Returns the approximate position of `x` within [0, bins).
  int64_t guess(double x) const;

  /// Appends edges with the width of the first bin until `largest` is approximately reached. Rounding may leave it
  /// outside. Fails if too many are needed.
  Status grow(float largest);
  /// Rounds the last run to the tensor's type, like the reference.
  void round_runs();

  int64_t bins;

 private:
  struct Run {
    int64_t index;       ///< Index of its first edge.
    double first, step;  ///< Edge index + i is first + i * step.
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
  /// Adds a sample's tensor. Fails where NumPy fails: an infinity, bins too narrow, too many bins.
  virtual Status add(const CleanSample& sample) = 0;
  virtual int64_t bins() const = 0;
  /// REQUIRES: a sample was added, 0 <= i <= bins().
  virtual float edge(int64_t i) const = 0;

  const BinCounts& counts() const { return counts_; }
  /// Returns the smallest and largest value of all samples; an empty sample counts as a zero.
  const numeric::Range& seen() const { return seen_; }

 protected:
  void widen(const numeric::Range& extremes);

  BinCounts counts_;
  numeric::Range seen_;
  bool has_sample_ = false;
};

/// Creates histogram A: of magnitudes, starting at the smallest magnitude of the first sample.
std::unique_ptr<ValueHistogram> make_histogram_abs(int64_t bins, bool is_half);
/// Creates histogram B: of signed values, symmetric about zero.
std::unique_ptr<ValueHistogram> make_histogram_signed(int64_t bins, bool is_half);
/// Creates A if the range is symmetric, otherwise B; with 2048 bins unless the options specify a number.
std::unique_ptr<ValueHistogram> make_percentile_histogram(const MethodOptions& options);

/// Returns the range that excludes the values excluded by `percentile`, within the observed values
/// (ref:calibration#percentiles). Its ends are left edges of bins. REQUIRES: a sample was added.
numeric::Range percentile_range(const ValueHistogram& histogram, bool symmetric, double percentile);
/// Returns `range` clipped to the values observed by the histogram.
numeric::Range within_seen(const ValueHistogram& histogram, numeric::Range range);
/// Fails unless 0 <= percentile <= 100.
Status check_percentile(double percentile);

}  // namespace quarkq::calib
