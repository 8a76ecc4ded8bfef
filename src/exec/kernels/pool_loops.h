// SPDX-License-Identifier: MIT
// Vectorized inner loops of pooling over channels-last images: one output position at a time, all channels side by
// side.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {
QQ_DECLARE_ISA(
    /// out[c] = max over the `count` rows at source + offsets[i] (elements), `channels` wide.
    void max_rows(const float* source, const int64_t* offsets, int64_t count, int64_t channels, float* out);
    /// out[c] = factor * sum over the rows.
    void average_rows(const float* source, const int64_t* offsets, int64_t count, int64_t channels, float factor,
                      float* out);
    /// sum[c] += over `rows` consecutive rows of `stride` elements, channels [0, channels).
    void add_rows(const float* source, int64_t rows, int64_t stride, int64_t channels, float* sum);
    /// most[c] = max(most[c], ...), as add_rows().
    void max_into(const float* source, int64_t rows, int64_t stride, int64_t channels, float* most);)
}  // namespace quarkq::exec
