// SPDX-License-Identifier: MIT
// What "quantized" means for one tensor: format, symmetry, scale kind; and the resulting parameters.
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

/// Which limits of an integer type hold (ref:scales#limits). kReduced wins over kSymmetric.
enum class RangeKind { kFull, kSymmetric, kReduced };
/// REQUIRES: an integer type of at most 32 bits.
IntegerRange integer_range(ElementType type, RangeKind kind);

/// How a scale may look (ref:scales#float-scales, ref:scales#int16-scales).
enum class ScaleKind { kFloat, kPowerOfTwo, kInt16 };

struct QuantSpec {
  ElementType type = ElementType::kInt8;
  bool symmetric = true;
  bool reduce_range = false;
  ScaleKind scale = ScaleKind::kFloat;
  bool scaled = false;  ///< float16 and bfloat16: a scale from the range; otherwise it is 1 and values are only rounded
  bool half_scale = false;  ///< the tensor is float16: range and scale are rounded to it
  bool per_channel = false;
  int64_t axis = 0;  ///< when per_channel: the dimension that has one scale per index
  bool operator==(const QuantSpec&) const = default;

  /// Whether the parameters depend on the values at all.
  bool needs_range() const {
    return scaled ||
           (type != ElementType::kFloat16 && type != ElementType::kBFloat16 && type != ElementType::kUndefined);
  }
  /// The limits that scale and zero point are computed with. REQUIRES: an integer type.
  IntegerRange range() const {
    return integer_range(type, reduce_range ? RangeKind::kReduced
                               : symmetric  ? RangeKind::kSymmetric
                                            : RangeKind::kFull);
  }
};

/// scale: real value per integer step, > 0. zero_point: integer steps, inside the type's full range.
struct QuantParams {
  float scale = 1.0f;
  int32_t zero_point = 0;
  bool operator==(const QuantParams&) const = default;
};

// From a range of real values to scale and zero point: the formulas of ref:scales.
// XINT8's power-of-two rounding is power_of_two_position().

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
