// SPDX-License-Identifier: MIT
#include "calib/quark/value_histogram.h"

#include <algorithm>

namespace quarkq::calib {
namespace {

/// Left edge of the bin with which the counts reach `fraction` of the total; the last edge when rounding keeps them
/// below it.
float edge_reaching(const ValueHistogram& histogram, double fraction) {
  const auto total = static_cast<double>(histogram.counts().total());
  // The running sum of bin 0 reaches 0; without counts it is NaN, which NumPy sorts after every number.
  int64_t found = total == 0 || fraction <= 0 ? 0 : histogram.bins();
  double sum = 0;
  histogram.counts().visit([&](int64_t bin, int64_t count) {
    sum += static_cast<double>(count) / total;
    if (sum < fraction) return true;
    found = fraction <= 0 ? 0 : bin;
    return false;
  });
  return histogram.edge(found);
}

}  // namespace

void ValueHistogram::widen(const numeric::Range& extremes) {
  seen_ = has_sample_ ? numeric::Range{std::min(seen_.min, extremes.min), std::max(seen_.max, extremes.max)} : extremes;
  has_sample_ = true;
}

std::unique_ptr<ValueHistogram> make_percentile_histogram(const MethodOptions& options) {
  const int64_t bins = options.num_bins.value_or(2048);
  return options.symmetric_range ? make_histogram_abs(bins, options.is_half)
                                 : make_histogram_signed(bins, options.is_half);
}

numeric::Range within_seen(const ValueHistogram& histogram, numeric::Range range) {
  if (range.min < histogram.seen().min) range.min = histogram.seen().min;
  if (range.max > histogram.seen().max) range.max = histogram.seen().max;
  return range;
}

numeric::Range percentile_range(const ValueHistogram& histogram, bool symmetric, double percentile) {
  if (symmetric) {
    const float threshold = edge_reaching(histogram, percentile / 100);
    return within_seen(histogram, {-threshold, threshold});
  }
  const double cut = (100 - percentile) / 200;
  return within_seen(histogram, {edge_reaching(histogram, cut), edge_reaching(histogram, 1 - cut)});
}

Status check_percentile(double percentile) {
  if (percentile >= 0 && percentile <= 100) return {};
  return invalid_argument("percentile: found ", percentile, ", allowed are 0 to 100");
}

}  // namespace quarkq::calib
