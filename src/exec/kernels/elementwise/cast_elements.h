// SPDX-License-Identifier: MIT
// Conversion of elements between any two numeric types: integers wrap, reals are truncated towards zero and clamped
// (NaN becomes 0), floats round to nearest even. Types of less than a byte and small floats go through a wide type.
#pragma once

#include <cstdint>
#include <optional>

#include "exec/kernels/shared/support.h"
#include "numeric/small_floats.h"

namespace quarkq::exec {

struct ElementCast {
  ElementType from = ElementType::kUndefined, to = ElementType::kUndefined;
  numeric::SmallFloatSettings target;                                   ///< Used if `to` is a small float.
  void (*cast)(const std::byte* x, std::byte* y, int64_t n) = nullptr;  ///< between the wide types
};

/// Returns nullopt if one of the types is not numeric (strings, complex). `settings` apply if `to` is a small float.
std::optional<ElementCast> make_element_cast(ElementType from, ElementType to,
                                             numeric::SmallFloatSettings settings = {});

/// Converts elements [begin, end) of an array. Results below 8 bits are codes, one per byte; such sources
/// are packed.
void cast_range(const ElementCast& plan, const std::byte* x, std::byte* y, int64_t begin, int64_t end);

/// All elements, over threads.
inline void cast_elements(const ElementCast& plan, const std::byte* x, std::byte* y, int64_t n) {
  for_elements(n, [&](int64_t begin, int64_t end) { cast_range(plan, x, y, begin, end); });
}

}  // namespace quarkq::exec
