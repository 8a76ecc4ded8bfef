// SPDX-License-Identifier: MIT
// OrderStatistics: exact percentiles of numbers that are observed twice instead of being stored. The first pass counts
// the upper halves of order-preserving keys, the second the lower halves of the few keys needed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "calib/method_options.h"
#include "calib/uniform_histogram.h"
#include "numeric/quant_params.h"

namespace quarkq::calib {

class OrderStatistics {
 public:
  /// `percentiles` are the percentiles to compute.
  explicit OrderStatistics(std::vector<double> percentiles) : percentiles_(std::move(percentiles)) {}

  /// First pass. REQUIRES: no NaN.
  void count_upper(float x) { upper_.add(key_of(x) >> 16); }
  int64_t count() const { return upper_.total(); }
  /// Call it between the passes. REQUIRES: count() > 0.
  void choose();
  /// Second pass, over the same numbers.
  void count_lower(float x) {
    const uint32_t key = key_of(x);
    const auto found = lower_.find(key >> 16);
    if (found != lower_.end()) found->second.add(key & 0xFFFF);
  }
  /// Returns NumPy's percentile number `index` with linear interpolation in float32 (ref:calibration#numpy-primitives).
  float percentile(size_t index) const;

 private:
  /// Returns a key with the order of the numbers.
  static uint32_t key_of(float x);
  static float number_of(uint32_t key);
  /// Position of a percentile: `fraction` of the distance from rank `rank` to the next.
  struct Place {
    int64_t rank = 0;
    double fraction = 0;
    bool is_largest = false;
  };
  Place place_of(double percentile) const;
  float at_rank(int64_t rank) const;

  std::vector<double> percentiles_;
  BinCounts upper_;
  std::map<uint32_t, BinCounts> lower_;  ///< Keyed by upper half.
};

/// Histogram C of ref:calibration#power-of-two-minmse, for MinMSE: between the extremes, in double; it grows by whole
/// bins on the side exceeded.
class HistogramPow2 {
 public:
  explicit HistogramPow2(int64_t first_bins) : first_bins_(first_bins) {}

  /// Adds a sample's tensor. If there are finite values, infinities count as the largest float. Fails for an empty
  /// sample, and if the bins become too narrow or too many.
  Status add(std::span<const float> values);

  const BinCounts& counts() const { return counts_; }
  int64_t bins() const { return edges_->bins; }
  /// REQUIRES: a sample was added, 0 <= i <= bins().
  double edge(int64_t i) const { return (*edges_)(i); }
  const numeric::Range& seen() const { return seen_; }
  bool has_sample() const { return edges_.has_value(); }

 private:
  Status grow(const numeric::Range& extremes);

  int64_t first_bins_;
  std::optional<UniformEdges<double>> edges_;
  BinCounts counts_;
  numeric::Range seen_;
};

// Scale and zero point for scoring a candidate range, and MinMSE's candidate scales
// (ref:calibration#layerwise-percentile, ref:calibration#power-of-two-minmse).

/// Returns params_for_range(), with the steps of a float16 range computed in float16 (ref:scales#float-scales): the
/// width is rounded to it, and scales below its smallest normal number become 1.
Result<numeric::QuantParams> scoring_params(const numeric::QuantSpec& spec, numeric::Range range, bool is_half);

/// Returns the spec for which MinMSE searches powers of two: full or symmetric limits of an 8, 16 or 32 bit integer,
/// otherwise of INT8.
numeric::QuantSpec minmse_spec(const numeric::QuantSpec& activation, bool symmetric_range);

/// 2p, p, p/2, p/4, p/8 around the power of two p nearest to the range's scale, all with the range's zero point.
using PowerCandidates = std::array<numeric::QuantParams, 5>;
Result<PowerCandidates> power_candidates(const numeric::QuantSpec& spec, numeric::Range range, bool is_half);

/// Returns the squared error of storing `values` with `params`, in float32 with NumPy's summation. Signed types never
/// use their smallest value.
float squared_error(std::span<const float> values, const numeric::QuantSpec& spec, const numeric::QuantParams& params);

/// Returns the first smallest error: ties select the larger scale.
template <typename Error>
size_t index_of_least(const std::array<Error, 5>& errors) {
  size_t best = 0;
  for (size_t i = 1; i < errors.size(); ++i) {
    if (errors[i] < errors[best]) best = i;
  }
  return best;
}

// The modes of MinMSE, one file each (ref:calibration#power-of-two-minmse). make_minmse_quark() selects.

using ObserverPointer = std::unique_ptr<RangeObserver>;

/// "All" on a histogram. REQUIRES: a symmetric range.
ObserverPointer make_minmse_on_bins(const MethodOptions& options);
/// "All" on the values: one pass for the extremes, one for the errors.
ObserverPointer make_minmse_on_values(const MethodOptions& options);
/// The scale that is best for most samples. REQUIRES: a symmetric range.
ObserverPointer make_minmse_most_common(const MethodOptions& options);
/// MinMSE restricted to the values within a percentile. Needs four passes.
ObserverPointer make_minmse_percentile(const MethodOptions& options);

}  // namespace quarkq::calib
