// SPDX-License-Identifier: MIT
// MinMSE for activations as the reference has it (ref:calibration#power-of-two-minmse): the choice of the mode, and
// mode "All" on a histogram.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "calib/quark/minmse_search.h"
#include "calib/quark/value_histogram.h"
#include "numeric/real_numbers.h"

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

// MinMSE on the values themselves (ref:calibration#power-of-two-minmse): mode "All" without bins, and "MostCommon". The
// reference keeps all samples, by default rounded to float16; here they are observed twice.

namespace {

using numeric::Range;

class MinMseOnValues final : public RangeObserver {
 public:
  explicit MinMseOnValues(const MethodOptions& options)
      : spec_(minmse_spec(options.spec, options.symmetric_range)),
        cache_(options.optimize_mem.value_or(true) ? SampleCache::kHalf : SampleCache::kNone),
        is_half_(options.is_half) {}

  Status add(std::span<const float> values) override {
    if (values.empty()) return bad_data("minmse: a sample is empty");
    const CleanSample sample = clean_sample(values, cache_);
    if (!has_candidates_) {
      const Range& found = sample.extremes;
      extremes_ = has_sample_ ? Range{std::min(extremes_.min, found.min), std::max(extremes_.max, found.max)} : found;
      has_sample_ = true;
      return {};
    }
    for (size_t i = 0; i < errors_.size(); ++i) errors_[i] += squared_error(sample.values, spec_, candidates_[i]);
    return {};
  }

  bool wants_another_pass() override {
    if (!has_sample_ || has_candidates_) return false;
    Result<PowerCandidates> candidates = power_candidates(spec_, extremes_, is_half_);
    status_ = candidates.status();
    if (!status_.ok()) return false;
    candidates_ = candidates.value();
    has_candidates_ = true;
    return true;
  }

  Result<Range> finish() override {
    if (!has_sample_) return bad_data("calibration: no data was collected");
    QQ_RETURN_IF_ERROR(status_);
    return representable_range(spec_, candidates_[index_of_least(errors_)]);
  }

 private:
  numeric::QuantSpec spec_;
  SampleCache cache_;
  bool is_half_, has_sample_ = false, has_candidates_ = false;
  Range extremes_;
  PowerCandidates candidates_;
  std::array<float, 5> errors_ = {};  ///< summed over samples in their order
  Status status_;
};

class MinMseMostCommon final : public RangeObserver {
 public:
  explicit MinMseMostCommon(const MethodOptions& options)
      : spec_(minmse_spec(options.spec, options.symmetric_range)), is_half_(options.is_half) {}

  Status add(std::span<const float> values) override {
    if (values.empty()) return bad_data("minmse: a sample is empty");
    const CleanSample sample = clean_sample(values);
    QQ_TRY(const PowerCandidates candidates, power_candidates(spec_, sample.extremes, is_half_));
    std::array<float, 5> errors;
    for (size_t i = 0; i < errors.size(); ++i) errors[i] = squared_error(sample.values, spec_, candidates[i]);
    const numeric::QuantParams& best = candidates[index_of_least(errors)];
    Vote& vote = votes_[best.scale];
    ++vote.samples;
    vote.range = representable_range(spec_, best);
    return {};
  }

  Result<Range> finish() override {
    const Vote* best = nullptr;
    for (const auto& [scale, vote] : votes_) {  // smallest scale first: it wins ties
      if (best == nullptr || vote.samples > best->samples) best = &vote;
    }
    if (best == nullptr) return bad_data("calibration: no data was collected");
    return best->range;
  }

 private:
  struct Vote {
    int64_t samples = 0;
    Range range;  ///< of the last sample
  };
  numeric::QuantSpec spec_;
  bool is_half_;
  std::map<float, Vote> votes_;  ///< by scale
};

}  // namespace

ObserverPointer make_minmse_on_values(const MethodOptions& options) {
  return std::make_unique<MinMseOnValues>(options);
}
ObserverPointer make_minmse_most_common(const MethodOptions& options) {
  return std::make_unique<MinMseMostCommon>(options);
}

// MinMSE's mode "Percentile" (ref:calibration#power-of-two-minmse): the candidate scales of the values that a
// percentile keeps. The reference sorts all samples at once; here they are observed four times.

namespace {

using numeric::Range;

std::vector<double> percentiles_of(const MethodOptions& options) {
  if (options.symmetric_range) return {options.percentile};
  const double cut = (100 - options.percentile) / 2;
  return {cut, 100 - cut};
}

class MinMsePercentile final : public RangeObserver {
 public:
  explicit MinMsePercentile(const MethodOptions& options)
      : spec_(minmse_spec(options.spec, options.symmetric_range)),
        cache_(options.optimize_mem.value_or(true) ? SampleCache::kHalf : SampleCache::kNone),
        is_half_(options.is_half),
        order_(percentiles_of(options)) {}

  Status add(std::span<const float> values) override {
    const CleanSample sample = clean_sample(values, cache_);
    switch (pass_) {
      case Pass::kUpper: return each_key(sample.values, [&](float x) { order_.count_upper(x); });
      case Pass::kLower: return each_key(sample.values, [&](float x) { order_.count_lower(x); });
      case Pass::kExtremes: widen(kept(sample.values)); return {};
      case Pass::kErrors: add_errors(kept(sample.values)); return {};
    }
    return {};
  }

  bool wants_another_pass() override {
    if (pass_ == Pass::kErrors || order_.count() == 0) return false;
    if (pass_ == Pass::kUpper) order_.choose();
    if (pass_ == Pass::kLower) find_limits();
    if (pass_ == Pass::kExtremes) {
      Result<PowerCandidates> candidates = power_candidates(spec_, extremes_.value_or(Range{}), is_half_);
      status_ = candidates.status();
      if (!status_.ok()) return false;
      candidates_ = candidates.value();
    }
    pass_ = static_cast<Pass>(static_cast<int>(pass_) + 1);
    return true;
  }

  Result<Range> finish() override {
    if (order_.count() == 0) return bad_data("minmse: the samples contain no value");
    QQ_RETURN_IF_ERROR(status_);
    std::array<float, 5> errors;  // the reference compares float32 sums
    for (size_t i = 0; i < errors.size(); ++i) errors[i] = static_cast<float>(errors_[i]);
    return representable_range(spec_, candidates_[index_of_least(errors)]);
  }

 private:
  enum class Pass { kUpper, kLower, kExtremes, kErrors };

  /// Calls count on what is ordered: magnitudes when symmetric, else the values.
  template <typename Count>
  Status each_key(std::span<const float> values, Count count) {
    for (const float x : values) count(spec_.symmetric ? std::abs(x) : x);
    return {};
  }

  void find_limits() {
    limits_ = {order_.percentile(0), order_.percentile(spec_.symmetric ? 0 : 1)};
    if (spec_.symmetric) limits_.min = -limits_.max;
  }

  /// The values within the limits, in order. A limit next to an infinity may be NaN, which keeps nothing.
  std::vector<float> kept(std::span<const float> values) const {
    std::vector<float> inside;
    for (const float x : values) {
      if (x >= limits_.min && x <= limits_.max) inside.push_back(x);
    }
    return inside;
  }

  void widen(const std::vector<float>& inside) {
    if (inside.empty()) return;
    const auto [low, high] = std::minmax_element(inside.begin(), inside.end());
    const Range found{*low, *high};
    extremes_ = extremes_ ? Range{std::min(extremes_->min, found.min), std::max(extremes_->max, found.max)} : found;
  }

  void add_errors(const std::vector<float>& inside) {
    for (size_t i = 0; i < errors_.size(); ++i) {
      errors_[i] += static_cast<double>(squared_error(inside, spec_, candidates_[i]));
    }
  }

  numeric::QuantSpec spec_;
  SampleCache cache_;
  bool is_half_;
  Pass pass_ = Pass::kUpper;
  OrderStatistics order_;
  Range limits_;
  std::optional<Range> extremes_;  ///< of what the limits keep
  PowerCandidates candidates_;
  std::array<double, 5> errors_ = {};
  Status status_;
};

}  // namespace

ObserverPointer make_minmse_percentile(const MethodOptions& options) {
  return std::make_unique<MinMsePercentile>(options);
}

}  // namespace quarkq::calib
