// SPDX-License-Identifier: MIT
// ValueHistogram: what the percentile methods, Entropy and Distribution remember of a tensor; histograms A and
// B (ref:calibration#histogram-of-magnitudes, ref:calibration#histogram-of-signed-values). Both grow when a later
// sample exceeds the first one.
#pragma once

#include <memory>
#include <span>

#include "base/error.h"
#include "calib/bin_counts.h"
#include "calib/method_options.h"
#include "calib/quark/sanitize.h"

namespace quarkq::calib {

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
