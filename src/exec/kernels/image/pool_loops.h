// SPDX-License-Identifier: MIT
// Vectorized inner loops of pooling over channels-last images: one output position at a time, all channels side by
// side.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {

/// `count` rows of `channels` elements, which begin at offsets[i].
struct ScatteredRows {
  const int64_t* offsets = nullptr;
  int64_t count = 0, channels = 0;
};
/// `rows` rows of `channels` elements, which begin `stride` apart.
struct StridedRows {
  int64_t rows = 0, stride = 0, channels = 0;
};

QQ_DECLARE_ISA(
    /// out[c] = max over the rows of `source`. T: float, double, int8, uint8.
    template <typename T> void max_rows(const T* source, const ScatteredRows& rows, T* out);
    /// The same; places[c] becomes the number of the row, counted in rows from `source`, that holds the maximum first.
    template <typename T> void max_rows_placed(const T* source, const ScatteredRows& rows, T* out, int64_t* places);
    /// out[c] = factor * sum over the rows. T: float, double, as in all that follow.
    template <typename T> void average_rows(const T* source, const ScatteredRows& rows, T factor, T* out);
    /// out[c] = (sum of |x|^power over the rows)^(1 / power)
    template <typename T> void norm_rows(const T* source, const ScatteredRows& rows, T power, T* out);
    /// sum[c] += over the rows.
    template <typename T> void add_rows(const T* source, const StridedRows& rows, T* sum);
    /// sum[c] += |x|^power, as add_rows().
    template <typename T> void add_powers(const T* source, const StridedRows& rows, T power, T* sum);
    /// most[c] = max(most[c], ...), as add_rows().
    template <typename T> void max_into(const T* source, const StridedRows& rows, T* most);)
}  // namespace quarkq::exec
