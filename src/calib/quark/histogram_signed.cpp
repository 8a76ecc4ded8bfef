// SPDX-License-Identifier: MIT
// Histogram B of ref:calibration#histogram-of-signed-values: signed values between -T and T; it grows by whole bins on
// both sides.
#include <cmath>
#include <optional>

#include "calib/quark/value_histogram.h"
#include "calib/uniform_histogram.h"

namespace quarkq::calib {
namespace {

class HistogramSigned final : public ValueHistogram {
 public:
  HistogramSigned(int64_t first_bins, bool is_half) : first_bins_(first_bins), is_half_(is_half) {}

  int64_t bins() const override { return edges_->bins; }
  float edge(int64_t i) const override { return (*edges_)(i); }

  Status add(const CleanSample& sample) override {
    if (sample.has_infinity()) return bad_data("histogram: a sample holds an infinity");
    const float reach = sample.reach();
    if (!edges_ || (reach > threshold_ && threshold_ == 0)) {
      QQ_RETURN_IF_ERROR(spread(reach, edges_ ? bins() : first_bins_));
    } else if (reach > threshold_) {
      QQ_RETURN_IF_ERROR(grow(reach));
    }
    count_uniform(sample.values, *edges_, counts_);
    widen(sample.extremes);
    return {};
  }

 private:
  float rounded(float x) const { return is_half_ ? rounded_to_half(x) : x; }

  /// New edges between -reach and reach; counts keep their places.
  Status spread(float reach, int64_t bins) {
    QQ_TRY(edges_, make_uniform_edges(-reach, reach, bins, is_half_));
    threshold_ = reach;
    return {};
  }

  /// floor(a / b) + 1 as NumPy's floor division of the tensor's type has it. REQUIRES: a >= 0, b > 0.
  float bins_over(float a, float b) const {
    const float quotient = rounded(rounded(a - std::fmod(a, b)) / b);
    float whole = std::floor(quotient);
    if (quotient - whole > 0.5f) whole += 1;
    return rounded(rounded(whole) + 1);
  }

  Status grow(float reach) {
    const float stride = rounded(rounded(2 * threshold_) / rounded(static_cast<float>(bins())));
    const float added = bins_over(rounded(reach - threshold_), stride);
    if (!(2 * static_cast<double>(added) <= static_cast<double>(kMaxBins - bins()))) {
      return bad_data("histogram: growing from ", threshold_, " to ", reach, " by bins of ", stride, " exceeds ",
                      kMaxBins, " bins");
    }
    const auto side = static_cast<int64_t>(added);
    const float reach_of_bins = rounded(rounded(added * stride) + threshold_);
    QQ_RETURN_IF_ERROR(spread(reach_of_bins, bins() + 2 * side));
    counts_.shift(side);
    return {};
  }

  int64_t first_bins_;
  bool is_half_;
  std::optional<UniformEdges<float>> edges_;
  float threshold_ = 0;  ///< T: zero while all values are, although the edges then are -0.5 and 0.5
};

}  // namespace

std::unique_ptr<ValueHistogram> make_histogram_signed(int64_t bins, bool is_half) {
  return std::make_unique<HistogramSigned>(bins, is_half);
}

}  // namespace quarkq::calib
