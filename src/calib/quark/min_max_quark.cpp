// SPDX-License-Identifier: MIT
// MinMax and NonOverflow as the reference has them (ref:calibration#min-and-max): the reductions of ONNX Runtime, then
// of NumPy.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "calib/method_options.h"
#include "calib/uniform_histogram.h"

namespace quarkq::calib {
namespace {

using numeric::Range;

/// ReduceMin and ReduceMax over everything. A NaN counts only as the first value, which then decides.
Range reduce(std::span<const float> values) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (values.empty()) return {kInfinity, -kInfinity};
  float low = values[0], high = values[0];
  for (const float x : values) {
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  return {low, high};
}

class MinMaxQuark final : public RangeObserver {
 public:
  explicit MinMaxQuark(const MethodOptions& options) : options_(options) {}

  Status add(std::span<const float> values) override {
    Range range = reduce(values);
    if (lows_.empty()) {  // only the first sample's reductions are repaired
      if (!std::isfinite(range.min)) range.min = 0;
      if (!std::isfinite(range.max)) range.max = 0;
    }
    extremes_ = lows_.empty() ? range : Range{std::fmin(extremes_.min, range.min), std::fmax(extremes_.max, range.max)};
    if (options_.moving_average || lows_.empty()) {
      lows_.push_back(range.min);
      highs_.push_back(range.max);
    }
    return {};
  }

  Result<Range> finish() override {
    if (lows_.empty()) return bad_data("calibration: no data was collected");
    const Range range = options_.moving_average ? Range{mean(lows_), mean(highs_)} : extremes_;
    if (!options_.symmetric_range) return range;
    const float reach = std::max(std::abs(range.min), std::abs(range.max));
    return Range{-reach, reach};
  }

 private:
  /// The plain mean, whatever the averaging constant; NaN is left out.
  float mean(const std::vector<float>& values) const {
    const auto count = static_cast<int64_t>(values.size());
    float sum = pairwise_sum(0, count, [&](int64_t i) {
      const float x = values[static_cast<size_t>(i)];
      return std::isnan(x) ? 0.0f : x;
    });
    if (options_.is_half) sum = rounded_to_half(sum);
    const auto numbers = count - std::count_if(values.begin(), values.end(), [](float x) { return std::isnan(x); });
    const auto average = static_cast<float>(static_cast<double>(sum) / static_cast<double>(numbers));
    return options_.is_half ? rounded_to_half(average) : average;
  }

  MethodOptions options_;
  Range extremes_;
  std::vector<float> lows_, highs_;  ///< by sample when a mean is asked for, else of the first
};

}  // namespace

Result<std::unique_ptr<RangeObserver>> make_min_max_quark(const MethodOptions& options) {
  return std::unique_ptr<RangeObserver>(std::make_unique<MinMaxQuark>(options));
}

}  // namespace quarkq::calib
