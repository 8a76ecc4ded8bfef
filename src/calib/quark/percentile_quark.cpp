// SPDX-License-Identifier: MIT
// Percentile as the reference has it: ref:calibration#histogram-of-magnitudes when symmetric, else
// ref:calibration#histogram-of-signed-values.
#include "calib/quark/value_histogram.h"
#include "calib/quark_methods.h"

namespace quarkq::calib {
namespace {

class PercentileQuark final : public RangeObserver {
 public:
  explicit PercentileQuark(const MethodOptions& options)
      : options_(options), histogram_(make_percentile_histogram(options)) {}

  Status add(std::span<const float> values) override {
    has_sample_ = true;
    return histogram_->add(clean_sample(values));
  }

  Result<numeric::Range> finish() override {
    if (!has_sample_) return bad_data("calibration: no data was collected");
    return percentile_range(*histogram_, options_.symmetric_range, options_.percentile);
  }

 private:
  MethodOptions options_;
  std::unique_ptr<ValueHistogram> histogram_;
  bool has_sample_ = false;
};

}  // namespace

Result<std::unique_ptr<RangeObserver>> make_percentile_quark(const MethodOptions& options) {
  QQ_RETURN_IF_ERROR(check_percentile(options.percentile));
  return std::unique_ptr<RangeObserver>(std::make_unique<PercentileQuark>(options));
}

}  // namespace quarkq::calib
