// SPDX-License-Identifier: MIT
// Distribution as the reference has it (ref:calibration#distribution): the ends of histogram B. Its mean and deviation,
// the only things that the scenario changes, never reach a range.
#include "calib/quark/value_histogram.h"
#include "calib/quark_methods.h"

namespace quarkq::calib {
namespace {

class DistributionQuark final : public RangeObserver {
 public:
  explicit DistributionQuark(int64_t bins) : histogram_(make_histogram_signed(bins, /*is_half=*/false)) {}

  Status add(std::span<const float> values) override {
    has_sample_ = true;
    return histogram_->add(clean_sample(values));
  }

  Result<numeric::Range> finish() override {
    if (!has_sample_) return bad_data("calibration: no data was collected");
    return numeric::Range{histogram_->edge(0), histogram_->edge(histogram_->bins())};
  }

 private:
  std::unique_ptr<ValueHistogram> histogram_;
  bool has_sample_ = false;
};

}  // namespace

Result<std::unique_ptr<RangeObserver>> make_distribution_quark(const MethodOptions& options) {
  constexpr int64_t kFewestBins = 512;
  const int64_t bins = options.num_bins.value_or(2048);
  if (bins < kFewestBins) return invalid_argument("num_bins: found ", bins, ", allowed are ", kFewestBins, " and more");
  if (options.scenario != "same" && options.scenario != "p3") {
    return invalid_argument("scenario: found \"", options.scenario, "\", allowed are \"same\" and \"p3\"");
  }
  if (options.is_half) return unsupported("distribution: float16 tensors, allowed are float32 tensors");
  return std::unique_ptr<RangeObserver>(std::make_unique<DistributionQuark>(bins));
}

}  // namespace quarkq::calib
