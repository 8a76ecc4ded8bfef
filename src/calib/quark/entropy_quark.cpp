// SPDX-License-Identifier: MIT
// Entropy as the reference has it (ref:calibration#entropy): of the ranges about the middle of histogram B the one
// whose counts lose least by quantization. CalibTensorRangeSymmetric has no effect.
#include <algorithm>
#include <optional>

#include "calib/divergence.h"
#include "calib/method_options.h"
#include "calib/quark/value_histogram.h"

namespace quarkq::calib {

namespace {

/// The work grows with the square of the bins; at this limit it takes minutes.
constexpr int64_t kMostGrownBins = int64_t{1} << 17;

class EntropyQuark final : public RangeObserver {
 public:
  explicit EntropyQuark(const MethodOptions& options)
      : quantized_bins_(options.num_quantized_bins),
        histogram_(make_histogram_signed(options.num_bins.value_or(128), options.is_half)) {}

  Status add(std::span<const float> values) override {
    has_sample_ = true;
    return histogram_->add(clean_sample(values));
  }

  Result<numeric::Range> finish() override {
    if (!has_sample_) return bad_data("calibration: no data was collected");
    const int64_t bins = histogram_->bins(), middle = bins / 2, narrowest = quantized_bins_ / 2;
    if (narrowest > middle) {
      return invalid_argument("num_quantized_bins: found ", quantized_bins_, ", the histogram has only ", bins,
                              " bins");
    }
    if (bins > kMostGrownBins) {
      return unsupported("entropy: the histogram grew to ", bins, " bins, allowed are at most ", kMostGrownBins);
    }
    std::vector<int64_t> counts(static_cast<size_t>(bins));
    for (int64_t i = 0; i < bins; ++i) counts[static_cast<size_t>(i)] = histogram_->counts().at(i);
    DivergenceSearch search(std::move(counts), quantized_bins_);
    std::optional<float> least;
    numeric::Range best;
    for (int64_t reach = narrowest; reach <= middle; ++reach) {
      const int64_t begin = middle - reach, end = std::min(middle + reach + 1, bins);
      QQ_TRY(const float found, search.divergence(begin, end));
      if (least && !(found < *least)) continue;
      least = found;
      best = {histogram_->edge(begin), histogram_->edge(end)};
    }
    return within_seen(*histogram_, best);
  }

 private:
  int64_t quantized_bins_;
  std::unique_ptr<ValueHistogram> histogram_;
  bool has_sample_ = false;
};

}  // namespace

Result<std::unique_ptr<RangeObserver>> make_entropy_quark(const MethodOptions& options) {
  if (options.num_quantized_bins < 1) {
    return invalid_argument("num_quantized_bins: found ", options.num_quantized_bins, ", allowed are 1 and more");
  }
  return std::unique_ptr<RangeObserver>(std::make_unique<EntropyQuark>(options));
}

// Distribution as the reference has it (ref:calibration#distribution): the ends of histogram B. Its mean and deviation,
// the only things that the scenario changes, never reach a range.

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
