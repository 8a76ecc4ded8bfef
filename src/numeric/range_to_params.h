// SPDX-License-Identifier: MIT
// From a range of real values to scale and zero point: the formulas of ref:scales.
// XINT8's power-of-two rounding is power_of_two_position().
#pragma once

#include "base/error.h"
#include "numeric/quant_spec.h"

namespace quarkq::numeric {

/// Range of real values, both ends included. Zero need not lie inside.
struct Range {
  float min = 0.0f;
  float max = 0.0f;
  bool operator==(const Range&) const = default;
};

/// p such that 2^-p is the power of two nearest to `scale` in log space, ties to even (ref:scales#power-of-two-scales).
/// Both directions occur, so a range may overflow its grid by up to sqrt(2). REQUIRES: scale > 0.
int power_of_two_position(float scale);
/// 2^-position.
float scale_of_position(int position);

/// M / 2^N nearest to `scale` with 0 <= N <= 16 and M in 16 bits; the smallest N wins ties; 2^-14 when nothing fits
/// (ref:scales#int16-scales).
float int16_scale(float scale);

/// The float16 number nearest to `scale`, kept above 0 and finite: neither would leave a value.
float half_scale(float scale);

/// Scale and zero point of `spec` for `range`. A range without width gives scale 1, zero point 0.
/// Fails when the range holds a NaN. Infinite ends count as half the largest float (ref:scales#float-scales).
Result<QuantParams> params_for_range(const QuantSpec& spec, Range range);

/// The range that `params` can represent within the limits of `spec`.
Range representable_range(const QuantSpec& spec, const QuantParams& params);

}  // namespace quarkq::numeric
