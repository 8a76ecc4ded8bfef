// SPDX-License-Identifier: MIT
// The quantization of one tensor: format, symmetry and kind of scale, and the resulting parameters.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "numeric/element_type.h"

namespace quarkq::numeric {

/// Inclusive integer limits.
struct IntegerRange {
  int64_t min = 0;
  int64_t max = 0;
  bool operator==(const IntegerRange&) const = default;
};

/// Limits of an integer type (ref:scales#limits). kReduced takes precedence over kSymmetric.
enum class RangeKind { kFull, kSymmetric, kReduced };
/// REQUIRES: an integer type of at most 32 bits.
IntegerRange integer_range(ElementType type, RangeKind kind);

/// Restriction of scales (ref:scales#float-scales, ref:scales#int16-scales).
enum class ScaleKind { kFloat, kPowerOfTwo, kInt16 };

struct QuantSpec {
  ElementType type = ElementType::kInt8;
  bool symmetric = true;
  bool reduce_range = false;
  ScaleKind scale = ScaleKind::kFloat;
  bool scaled = false;  ///< float16 and bfloat16: compute a scale from the range. Otherwise the scale is 1 and values
                        ///< are only rounded.
  bool half_scale = false;  ///< The tensor is float16: range and scale are rounded to float16.
  bool per_channel = false;
  int64_t axis = 0;  ///< If per_channel: the dimension with one scale per index.
  bool operator==(const QuantSpec&) const = default;

  /// Returns whether the parameters depend on the values.
  bool needs_range() const {
    return scaled ||
           (type != ElementType::kFloat16 && type != ElementType::kBFloat16 && type != ElementType::kUndefined);
  }
  /// Returns the limits for computing scale and zero point. REQUIRES: an integer type.
  IntegerRange range() const {
    return integer_range(type, reduce_range ? RangeKind::kReduced
                               : symmetric  ? RangeKind::kSymmetric
                                            : RangeKind::kFull);
  }
};

/// `scale` is the real value of one integer step, > 0. `zero_point` is in integer steps, within the type's full range.
struct QuantParams {
  float scale = 1.0f;
  int32_t zero_point = 0;
  bool operator==(const QuantParams&) const = default;
};

// Formulas of ref:scales from a range of real values to scale and zero point. The power-of-two rounding of XINT8 is
// power_of_two_position().

/// Range of real values, both ends included. Need not contain zero.
struct Range {
  float min = 0.0f;
  float max = 0.0f;
  bool operator==(const Range&) const = default;
};

/// Returns p such that 2^-p is the power of two nearest to `scale` in log space, ties to even
/// (ref:scales#power-of-two-scales). The scale can become smaller, so a range may overflow its grid by up to sqrt(2).
/// REQUIRES: scale > 0.
int power_of_two_position(float scale);
/// Returns 2^-position.
float scale_of_position(int position);

/// Returns M / 2^N nearest to `scale` with 0 <= N <= 16 and M in 16 bits. The smallest N wins ties. Returns 2^-14 if no
/// such number exists (ref:scales#int16-scales).
float int16_scale(float scale);

/// Returns the float16 number nearest to `scale`, kept above 0 and finite.
float half_scale(float scale);

/// Returns scale and zero point of `spec` for `range`. A range of width 0 gives scale 1 and zero point 0. Infinite ends
/// count as half the largest float (ref:scales#float-scales). Fails if the range contains a NaN.
Result<QuantParams> params_for_range(const QuantSpec& spec, Range range);

/// Returns the range that `params` can represent within the limits of `spec`.
Range representable_range(const QuantSpec& spec, const QuantParams& params);

}  // namespace quarkq::numeric
