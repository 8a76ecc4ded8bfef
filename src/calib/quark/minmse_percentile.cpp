// SPDX-License-Identifier: MIT
// MinMSE's mode "Percentile" (ref:calibration#power-of-two-minmse): the candidate scales of the values that a
// percentile keeps. The reference sorts all samples at once; here they are observed four times.
#include <algorithm>
#include <cmath>
#include <optional>

#include "calib/quark/minmse_modes.h"
#include "calib/quark/order_statistics.h"
#include "calib/quark/sanitize.h"
#include "calib/quark/scoring_params.h"

namespace quarkq::calib {
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
    if (order_.count() == 0) return bad_data("minmse: the samples hold no value");
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
