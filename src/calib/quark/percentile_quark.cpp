// SPDX-License-Identifier: MIT
// Percentile as the reference has it: ref:calibration#histogram-of-magnitudes when symmetric, else
// ref:calibration#histogram-of-signed-values.
#include <algorithm>
#include <cmath>
#include <optional>

#include "calib/method_options.h"
#include "calib/quark/minmse_search.h"
#include "calib/quark/value_histogram.h"
#include "calib/uniform_histogram.h"
#include "numeric/real_numbers.h"

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

// LayerWisePercentile as the reference has it (ref:calibration#layerwise-percentile): of several percentiles the one
// whose quantization errs least, on the bins of a histogram or, in a second pass, on the values themselves.

namespace {

using numeric::QuantParams, numeric::Range;

/// A percentile's range and how far quantization with it is off.
struct ScoredRange {
  Range range;
  QuantParams params;
  double error = 0;
};

class LayerwisePercentileQuark final : public RangeObserver {
 public:
  explicit LayerwisePercentileQuark(const MethodOptions& options)
      : options_(options), histogram_(make_percentile_histogram(options)) {
    // Scored as an asymmetric range of the full type, whatever the activation's symmetry.
    spec_.type = options.spec.type;
    spec_.symmetric = false;
    if (!options.lwp_use_histogram && options.optimize_mem.value_or(false)) cache_ = SampleCache::kHalf;
  }

  Status add(std::span<const float> values) override {
    const CleanSample sample = clean_sample(values, cache_);
    if (!candidates_.empty()) return score_values(sample.values);
    ++samples_;
    same_sizes_ = same_sizes_ && (samples_ == 1 || values.size() == size_);
    size_ = values.size();
    return histogram_->add(sample);
  }

  bool wants_another_pass() override {
    if (options_.lwp_use_histogram || samples_ == 0 || !candidates_.empty()) return false;
    status_ = make_candidates();
    return status_.ok();
  }

  Result<Range> finish() override {
    if (samples_ == 0) return bad_data("calibration: no data was collected");
    if (options_.lwp_use_histogram) {
      status_ = make_candidates();
      score_bins();
    }
    QQ_RETURN_IF_ERROR(status_);
    const auto least = std::min_element(candidates_.begin(), candidates_.end(),
                                        [](const auto& a, const auto& b) { return a.error < b.error; });
    return least->range;
  }

 private:
  Status make_candidates() {
    if (stacks_samples() && !same_sizes_) return bad_data("layerwise percentile: the samples' shapes differ");
    for (const double percentile : options_.percentile_candidates) {
      const Range range = percentile_range(*histogram_, options_.symmetric_range, percentile);
      QQ_TRY(const QuantParams params, scoring_params(spec_, range, options_.is_half));
      candidates_.push_back({range, params});
    }
    return {};
  }

  void score_bins() {
    const auto low = static_cast<double>(spec_.range().min), high = static_cast<double>(spec_.range().max);
    const auto total = static_cast<double>(histogram_->counts().total());
    for (ScoredRange& candidate : candidates_) {
      const auto scale = static_cast<double>(candidate.params.scale);
      const double zero_point = candidate.params.zero_point;
      histogram_->counts().visit([&](int64_t bin, int64_t count) {
        const double x =
            (static_cast<double>(histogram_->edge(bin)) + static_cast<double>(histogram_->edge(bin + 1))) / 2;
        const double steps = std::clamp(numeric::round_half_even(x / scale + zero_point), low, high);
        const double off = std::abs(x - (steps - zero_point) * scale);
        candidate.error += static_cast<double>(count) * (squared() ? off * off : off);
        return true;
      });
      if (total > 0) candidate.error /= total;
    }
  }

  Status score_values(std::span<const float> values) {
    const auto low = static_cast<float>(spec_.range().min), high = static_cast<float>(spec_.range().max);
    const auto count = static_cast<int64_t>(values.size());
    for (ScoredRange& candidate : candidates_) {
      const float scale = candidate.params.scale, zero_point = static_cast<float>(candidate.params.zero_point);
      const auto error = [&, squares = squared(), data = values.data()](int64_t i) {
        const float steps = numeric::round_half_even(data[i] / scale + zero_point);
        const float off = std::abs(data[i] - (std::min(std::max(steps, low), high) - zero_point) * scale);
        return squares ? off * off : off;
      };
      const float sum = pairwise_sum(0, count, error);
      candidate.error += static_cast<double>(stacks_samples() ? sum : sum / static_cast<float>(count));
    }
    return {};
  }

  bool squared() const { return options_.lwp_metric == "mse"; }
  /// With several workers the reference takes one mean over all samples.
  bool stacks_samples() const { return !options_.lwp_use_histogram && options_.worker_num > 1; }

  MethodOptions options_;
  numeric::QuantSpec spec_;
  SampleCache cache_ = SampleCache::kNone;
  std::unique_ptr<ValueHistogram> histogram_;
  std::vector<ScoredRange> candidates_;
  Status status_;
  int64_t samples_ = 0;
  size_t size_ = 0;
  bool same_sizes_ = true;
};

bool has_integer_limits(ElementType type) {
  return type == ElementType::kInt4 || type == ElementType::kUInt4 || (is_integer(type) && bits(type) <= 32);
}

}  // namespace

Result<std::unique_ptr<RangeObserver>> make_layerwise_percentile_quark(const MethodOptions& options) {
  if (options.lwp_metric != "mae" && options.lwp_metric != "mse") {
    return invalid_argument("lwp_metric: found \"", options.lwp_metric, "\", allowed are \"mae\" and \"mse\"");
  }
  if (options.percentile_candidates.empty()) return invalid_argument("percentile_candidates: none given");
  for (const double percentile : options.percentile_candidates) QQ_RETURN_IF_ERROR(check_percentile(percentile));
  if (!has_integer_limits(options.spec.type)) {
    return unsupported("layerwise percentile: ", name(options.spec.type), ", allowed are integers of at most 32 bits");
  }
  return std::unique_ptr<RangeObserver>(std::make_unique<LayerwisePercentileQuark>(options));
}

}  // namespace quarkq::calib
