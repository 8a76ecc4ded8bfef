// SPDX-License-Identifier: MIT
// MinMSE on the values themselves (ref:calibration#power-of-two-minmse): mode "All" without bins, and "MostCommon". The
// reference keeps all samples, by default rounded to float16; here they are observed twice.
#include <algorithm>
#include <map>

#include "calib/quark/minmse_modes.h"
#include "calib/quark/sanitize.h"
#include "calib/quark/scoring_params.h"

namespace quarkq::calib {
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

}  // namespace quarkq::calib
