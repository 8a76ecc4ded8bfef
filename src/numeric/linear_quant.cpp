// SPDX-License-Identifier: MIT
#include "numeric/linear_quant.h"

#include <algorithm>
#include <cmath>

#include "numeric/real_numbers.h"

namespace quarkq::numeric {

namespace {

constexpr float kInt64Limit = 9223372036854775808.0f;  // 2^63

}  // namespace

int64_t quantize(float x, const LinearParams& params) {
  const float steps = round_half_even(x / params.scale);
  if (std::isnan(steps) || steps < -kInt64Limit) return params.range.min;
  if (steps >= kInt64Limit) return params.overflow == Overflow::kSaturate ? params.range.max : params.range.min;
  // Beyond 2^62 the sum could overflow; no zero point brings such a value back into the range.
  if (steps >= kInt64Limit / 2) return params.range.max;
  if (steps < -kInt64Limit / 2) return params.range.min;
  return std::clamp(static_cast<int64_t>(steps) + params.zero_point, params.range.min, params.range.max);
}

float dequantize(int64_t q, const LinearParams& params) {
  return static_cast<float>(q - params.zero_point) * params.scale;
}

float fake_quantize(float x, const LinearParams& params) { return dequantize(quantize(x, params), params); }

}  // namespace quarkq::numeric
