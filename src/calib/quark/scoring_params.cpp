// SPDX-License-Identifier: MIT
#include "calib/quark/scoring_params.h"

#include <algorithm>

#include "calib/pairwise_sum.h"
#include "calib/uniform_histogram.h"
#include "numeric/rounding.h"

namespace quarkq::calib {

using numeric::QuantParams, numeric::QuantSpec, numeric::Range;

Result<QuantParams> scoring_params(const QuantSpec& spec, Range range, bool is_half) {
  if (!is_half) return params_for_range(spec, range);
  constexpr double kSmallestNormalHalf = 0x1p-14;
  const numeric::IntegerRange limits = spec.range();
  range = {std::min(range.min, 0.0f), std::max(range.max, 0.0f)};
  if (spec.symmetric) range.max = std::max(-range.min, range.max);
  if (spec.symmetric) range.min = -range.max;
  const float width = rounded_to_half(range.max - range.min);
  if (static_cast<double>(width) / static_cast<double>(limits.max - limits.min) < kSmallestNormalHalf) {
    return QuantParams{1.0f, 0};
  }
  if (!spec.symmetric) range.max = range.min + width;
  return params_for_range(spec, range);
}

QuantSpec minmse_spec(const QuantSpec& activation, bool symmetric_range) {
  constexpr ElementType kAllowed[] = {ElementType::kInt8,   ElementType::kUInt8, ElementType::kInt16,
                                      ElementType::kUInt16, ElementType::kInt32, ElementType::kUInt32};
  QuantSpec spec;
  const bool allowed = std::find(std::begin(kAllowed), std::end(kAllowed), activation.type) != std::end(kAllowed);
  spec.type = allowed ? activation.type : ElementType::kInt8;
  spec.symmetric = symmetric_range;
  spec.scale = numeric::ScaleKind::kPowerOfTwo;
  return spec;
}

Result<PowerCandidates> power_candidates(const QuantSpec& spec, Range range, bool is_half) {
  QQ_TRY(const QuantParams params, scoring_params(spec, range, is_half));
  const int position = numeric::power_of_two_position(params.scale);
  PowerCandidates candidates;
  for (int i = 0; i < static_cast<int>(candidates.size()); ++i) {
    candidates[static_cast<size_t>(i)] = {numeric::scale_of_position(position + i - 1), params.zero_point};
  }
  return candidates;
}

float squared_error(std::span<const float> values, const QuantSpec& spec, const QuantParams& params) {
  const numeric::IntegerRange limits = integer_range(spec.type, numeric::RangeKind::kSymmetric);
  const auto low = static_cast<float>(limits.min), high = static_cast<float>(limits.max);
  const auto zero_point = static_cast<float>(params.zero_point);
  const float* data = values.data();
  return pairwise_sum(0, static_cast<int64_t>(values.size()), [=](int64_t i) {
    const float steps = numeric::round_half_even(data[i] / params.scale) + zero_point;
    const float code = std::min(std::max(steps, low), high);
    const float difference = (code - zero_point) * params.scale - data[i];
    return difference * difference;
  });
}

}  // namespace quarkq::calib
