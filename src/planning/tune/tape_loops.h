// SPDX-License-Identifier: MIT
// The loops of a tape over all elements of a value. Callers split the work into fixed chunks.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::planning {

/// Draws by position: element i is drawn when a hash of i and `seed` is below `limit`, so that no order of work shows.
struct Draw {
  uint32_t seed = 0, limit = 0;
};

/// The limit by which a share of the elements is drawn; none for shares below 0 and NaN, all from 1 on.
inline uint32_t draw_limit(double share) {
  if (share >= 1) return 0xffffffffu;
  return share > 0 ? static_cast<uint32_t>(share * 4294967296.0) : 0u;
}

/// Of the elements [begin, end).
struct Elements {
  int64_t begin = 0, end = 0;
};

/// Values from low to high, both included.
struct Span {
  float low = 0, high = 0;
};

QQ_DECLARE_ISA(
    /// y = drawn ? y : x clipped to the span.
    void clip_the_rest(const float* x, float* y, Span span, Draw draw, Elements elements);
    /// y = drawn ? a : b.
    void mix(const float* a, const float* b, float* y, Draw draw, Elements elements);
    /// y = 0 where `at` is outside of the span.
    void pass_inside(const float* at, float* y, Span span, Elements elements);)

}  // namespace quarkq::planning
