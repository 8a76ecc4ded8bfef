// SPDX-License-Identifier: MIT
// MinMSE for activations as the reference has it (ref:calibration#power-of-two-minmse): the choice of the mode, and
// mode "All" on a histogram.
#include "calib/quark/histogram_pow2.h"
#include "calib/quark/minmse_modes.h"
#include "calib/quark/scoring_params.h"
#include "calib/quark/value_histogram.h"
#include "numeric/rounding.h"

namespace quarkq::calib {
namespace {

using numeric::QuantParams, numeric::Range;

class MinMseOnBins final : public RangeObserver {
 public:
  explicit MinMseOnBins(const MethodOptions& options)
      : spec_(minmse_spec(options.spec, /*symmetric_range=*/true)), histogram_(options.num_bins.value_or(2048)) {}

  Status add(std::span<const float> values) override { return histogram_.add(values); }

  Result<Range> finish() override {
    if (!histogram_.has_sample()) return bad_data("calibration: no data was collected");
    QQ_TRY(const PowerCandidates candidates, power_candidates(spec_, histogram_.seen(), /*is_half=*/false));
    std::array<double, 5> errors;
    for (size_t i = 0; i < errors.size(); ++i) errors[i] = error_of(candidates[i]);
    return representable_range(spec_, candidates[index_of_least(errors)]);
  }

 private:
  /// Squared error of the bins' centres. The quotient is rounded to float32, the rest is double.
  double error_of(const QuantParams& params) const {
    const auto low = static_cast<double>(spec_.range().min), high = static_cast<double>(spec_.range().max);
    const double zero_point = params.zero_point;
    double error = 0;
    histogram_.counts().visit([&](int64_t bin, int64_t count) {
      const auto x = static_cast<float>((histogram_.edge(bin) + histogram_.edge(bin + 1)) / 2);
      const auto steps = static_cast<double>(numeric::round_half_even(x / params.scale));
      const double code = std::clamp(steps + zero_point, low, high);
      const double off = static_cast<double>(x) - (code - zero_point) * static_cast<double>(params.scale);
      error += static_cast<double>(count) * (off * off);
      return true;
    });
    return error;
  }

  numeric::QuantSpec spec_;
  HistogramPow2 histogram_;
};

}  // namespace

ObserverPointer make_minmse_on_bins(const MethodOptions& options) { return std::make_unique<MinMseOnBins>(options); }

Result<ObserverPointer> make_minmse_quark(const MethodOptions& options) {
  if (options.minmse_mode == "Percentile") {
    QQ_RETURN_IF_ERROR(check_percentile(options.percentile));
    return make_minmse_percentile(options);
  }
  if (options.minmse_mode == "MostCommon" && options.symmetric_range) return make_minmse_most_common(options);
  // An unknown mode, and the most common scale of an asymmetric range, become "All" on the values.
  const bool on_bins = options.minmse_mode == "All" && options.num_bins.value_or(2048) != 0;
  if (!on_bins) return make_minmse_on_values(options);
  if (!options.symmetric_range) return unsupported("minmse: a histogram needs a symmetric range, found asymmetric");
  return make_minmse_on_bins(options);
}

}  // namespace quarkq::calib
