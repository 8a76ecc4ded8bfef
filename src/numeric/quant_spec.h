// SPDX-License-Identifier: MIT
// What "quantized" means for one tensor: format, symmetry, scale kind; and the resulting parameters.
#pragma once

#include <cstdint>

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

}  // namespace quarkq::numeric
