// SPDX-License-Identifier: MIT
// Vectorized loops over channels-last images: interpolation, pooling, sparse sums and convolution.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {

// Vectorized float32 loops of interpolation.

/// Taps of consecutive outputs, `width` each.
struct TapList {
  const int64_t* index;
  const float* weight;
  int64_t width;
};

/// A row of bilinear outputs, units of `inner` floats: both tap lists have width 2.
struct BilinearRow {
  TapList vertical, horizontal;
  int64_t stride = 0;  ///< floats from one input row to the next
  int64_t count = 0, inner = 1;
};

QQ_DECLARE_ISA(
    /// y[i] = sum over k < width of weight[k] * rows[index[k] * stride + i], i < n.
    void combine_rows(const float* rows, int64_t stride, const TapList& taps, float* y, int64_t n);
    /// For each of `count` outputs, units of `inner` floats: y[o, c] = sum of weight * x[index, c].
    void combine_units(const float* x, const TapList& taps, float* y, int64_t count, int64_t inner);
    /// Bilinear: both rows weighted by `vertical`, along them as combine_units().
    /// The four products are added in ONNX Runtime's order, (h0 v0) a + (h1 v0) b + (h0 v1) c + (h1 v1) d: on quantized
    /// values exact ties are common, and another order rounds them the other way (seen: 1.2 % of a tensor).
    void combine_squares(const float* rows, const BilinearRow& row, float* y);)

// Vectorized inner loops of pooling over channels-last images: one output position at a time, all channels side by
// side.

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
    /// Computes max_rows(), and sets places[c] to the number of the first row with the maximum, counted in rows from
    /// `source`.
    template <typename T> void max_rows_placed(const T* source, const ScatteredRows& rows, T* out, int64_t* places);
    /// out[c] = factor * sum over the rows. T: float or double, also in the following functions.
    template <typename T> void average_rows(const T* source, const ScatteredRows& rows, T factor, T* out);
    /// out[c] = (sum of |x|^power over the rows)^(1 / power)
    template <typename T> void norm_rows(const T* source, const ScatteredRows& rows, T power, T* out);
    /// sum[c] += over the rows.
    template <typename T> void add_rows(const T* source, const StridedRows& rows, T* sum);
    /// sum[c] += |x|^power, as add_rows().
    template <typename T> void add_powers(const T* source, const StridedRows& rows, T power, T* sum);
    /// most[c] = max(most[c], ...), as add_rows().
    template <typename T> void max_into(const T* source, const StridedRows& rows, T* most);)

/// Output row i is the sum of weights[k] * (x + offsets[k])[0..channels) over k in [begin[i], begin[i + 1]), times
/// factor[i] when there are factors.
struct RowSums {
  const int64_t* begin = nullptr;
  const int64_t* offsets = nullptr;  ///< elements
  const float* weights = nullptr;
  const float* factor = nullptr;  ///< may be null
  int64_t channels = 0;
  int64_t stride = 0;  ///< elements between output rows
};

QQ_DECLARE_ISA(
    /// Output rows [0, rows) at y.
    void weighted_rows(const RowSums& sums, const float* x, float* y, int64_t rows);
    /// Computes the largest weighted value instead of the sum; an output without inputs is 0.
    void largest_rows(const RowSums& sums, const float* x, float* y, int64_t rows);)

// Vectorized loops of direct convolutions. Each result is one sum, over the taps of the kernel and the channels of each
// tap, in an order that depends on nothing but the problem and the instruction set.

/// With at most so many output channels, the lanes of a vector hold input channels, otherwise output channels.
constexpr int64_t kFewOutputs = 4;
constexpr int64_t kOutputBlock = 16;  ///< output channels computed together, when lanes hold output channels
constexpr int64_t kInputBlock = 16;   ///< input channels are padded to multiples of this, when lanes hold those

/// Results of consecutive positions. The window of a position consists of runs of elements next to each other, which
/// begin at padded + starts[position] + runs[r].
struct DirectRows {
  const float* padded = nullptr;
  const int64_t* runs = nullptr;  ///< element offsets
  int64_t run_count = 0;
  int64_t run_length = 0;           ///< elements: input channels of one or more taps
  const float* weights = nullptr;   ///< [blocks of outputs, runs, run_length, kOutputBlock]; see sum_few_outputs()
  const float* bias = nullptr;      ///< one per output channel, padded to whole blocks
  const int64_t* starts = nullptr;  ///< element offsets, one per position
  int64_t count = 0;                ///< number of positions
  int64_t outputs = 0;              ///< output channels
};

QQ_DECLARE_ISA(
    /// y[position, o] = bias[o] + sum over r, i of run(r)[i] * weight(o, r, i), for output channels o of [begin, end).
    /// REQUIRES: `begin` is a multiple of kOutputBlock.
    void sum_outputs(const DirectRows& rows, int64_t begin, int64_t end, float* y);
    /// Computes all output channels, at most kFewOutputs. Weights are [runs, run_length / kInputBlock, outputs,
    /// kInputBlock]. REQUIRES: run_length is a multiple of kInputBlock.
    void sum_few_outputs(const DirectRows& rows, float* y);)

}  // namespace quarkq::exec
