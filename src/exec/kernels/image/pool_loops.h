// SPDX-License-Identifier: MIT
// Vectorized inner loops of pooling over channels-last images: one output position at a time, all channels side by
// side.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {
QQ_DECLARE_ISA(
    /// out[c] = max over the `count` rows at source + offsets[i] (elements), `channels` wide. T: float, double, int8,
    /// uint8.
    template <typename T>
    void max_rows(const T* source, const int64_t* offsets, int64_t count, int64_t channels, T* out);
    /// The same; places[c] becomes the number of the row, counted in rows from `source`, that holds the maximum first.
    template <typename T> void max_rows_placed(const T* source, const int64_t* offsets, int64_t count, int64_t channels,
                                               T* out, int64_t* places);
    /// out[c] = factor * sum over the rows. T: float, double, as in all that follow.
    template <typename T>
    void average_rows(const T* source, const int64_t* offsets, int64_t count, int64_t channels, T factor, T* out);
    /// out[c] = (sum of |x|^power over the rows)^(1 / power)
    template <typename T>
    void norm_rows(const T* source, const int64_t* offsets, int64_t count, int64_t channels, T power, T* out);
    /// sum[c] += over `rows` consecutive rows of `stride` elements, channels [0, channels).
    template <typename T> void add_rows(const T* source, int64_t rows, int64_t stride, int64_t channels, T* sum);
    /// sum[c] += |x|^power, as add_rows().
    template <typename T>
    void add_powers(const T* source, int64_t rows, int64_t stride, int64_t channels, T power, T* sum);
    /// most[c] = max(most[c], ...), as add_rows().
    template <typename T> void max_into(const T* source, int64_t rows, int64_t stride, int64_t channels, T* most);)
}  // namespace quarkq::exec
