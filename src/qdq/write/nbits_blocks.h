// SPDX-License-Identifier: MIT
// Weights of 2 to 8 bits in blocks along the depth of a matrix, in the format of com.microsoft MatMulNBits
// (ref:writing#matmulnbits). Pure functions on arrays: a weight is [depth, columns], row-major.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/isa.h"
#include "numeric/real_numbers.h"

namespace quarkq::qdq {

/// A matrix and the format of its blocks.
struct NBitsShape {
  int64_t depth = 0, columns = 0, block = 128;
  int bits = 4;  ///< 2, 3, 4 or 8.

  int64_t blocks() const { return (depth + block - 1) / block; }  ///< Returns the number of blocks in one column.
  float largest_code() const { return static_cast<float>((1 << bits) - 1); }
  float middle_code() const { return static_cast<float>(1 << (bits - 1)); }
  /// 3 bits are stored in 4: no runtime has a kernel for them.
  int stored_bits() const { return bits == 3 ? 4 : bits; }
  /// Added to stored codes and zero points, so that the middle code is the middle of the stored bits.
  int moved_by() const { return (1 << (stored_bits() - 1)) - (1 << (bits - 1)); }
  int64_t block_bytes() const { return block * stored_bits() / 8; }

  /// Clamps `code` to [0, largest_code()]. Returns 0 for NaN.
  float limited_code(float code) const { return code > 0 ? std::min(code, largest_code()) : 0.0f; }
  float nearest_code(float steps) const { return limited_code(numeric::round_half_even(steps)); }
};

/// Codes are [columns, blocks, block], one per entry; entries beyond the depth are padding. Scales and zero points are
/// [columns, blocks].
struct NBitsWeight {
  std::vector<uint8_t> codes;
  std::vector<float> scales;
  std::vector<float> zeros;  ///< Integers, except for methods with real zero points.
};

/// The stored form of an NBitsWeight: codes of stored_bits(), [columns, blocks, block_bytes()]. Codes and zero points
/// of 3 bits are moved by moved_by().
struct PackedNBits {
  std::vector<uint8_t> codes;
  std::vector<float> scales, zeros;
};

/// Returns the block's values of one column in order; fewer at the end of the column.
std::vector<float> block_values(std::span<const float> weight, const NBitsShape& shape, int64_t column, int64_t block);

/// Rounds each block independently, like ONNX Runtime's tool. Symmetric scales may be negative.
NBitsWeight round_blocks(std::span<const float> weight, const NBitsShape& shape, bool symmetric);
/// Computes packed(round_blocks()) with vectorized loops and all threads.
PackedNBits round_packed_blocks(std::span<const float> weight, const NBitsShape& shape, bool symmetric);
/// REQUIRES: whole bytes per block.
PackedNBits packed(NBitsWeight weight, const NBitsShape& shape);
/// Half-quadratic quantization: moves the zero points, as real numbers, until the error no longer decreases.
NBitsWeight hqq_blocks(std::span<const float> weight, const NBitsShape& shape);
/// Rounds real zero points to codes, and the codes again. With 8 bits, ONNX Runtime 1.32 accepts no real zero points.
void round_zero_points(std::span<const float> weight, const NBitsShape& shape, NBitsWeight& made);
/// Returns the reference's storage of weights rounded by GPTQ: rounded again, with new blocks.
NBitsWeight round_again(std::span<const float> weight, const NBitsShape& shape, bool symmetric);

/// Packs codes of 2, 4 or 8 bits into bytes, the first in the lowest bits. If the `values` of a row do not fill its
/// last byte, the remaining codes are `rest`.
std::vector<uint8_t> pack_rows(std::span<const uint8_t> values, int64_t row, int bits, uint8_t rest);

// Blocks by weighted least squares, like ggml's k-quants.

struct KQuantOptions {
  bool is_symmetric = false;  ///< The zero point is the middle code; scales may be negative.
  /// Second moments of the inputs, [depth], or empty: all inputs are alike.
  std::span<const float> importance = {};
};

/// Scale and zero point of a block: value = (code - zero) * scale.
struct BlockGrid {
  float scale = 0, zero = 0;
};

/// Returns the grid with the smallest weighted squared error that the search finds. Each value is weighted by its
/// importance, by its magnitude and by the root mean square of the block. The result is never worse than the grid of
/// round_blocks(). `importance` is empty or has the size of `values`. Only `shape.bits` is read.
BlockGrid fit_k_quant(std::span<const float> values, std::span<const float> importance, const NBitsShape& shape,
                      bool is_symmetric);

/// Rounds every block with its fit_k_quant(). The last block of a column is padded with zeros, which count. Uses all
/// threads; the result does not depend on their number.
NBitsWeight k_quant_blocks(std::span<const float> weight, const NBitsShape& shape, const KQuantOptions& options);

// Inner loops of fit_k_quant() and k_quant_blocks().

struct BlockSpread {
  float low = 0, high = 0, squares = 0;  ///< The range with zero, and the sum of the squares.
};
/// A block in units of a step, value = step * unit, and the weight of each squared error.
struct BlockSteps {
  std::span<const float> steps, weights;
  float largest = 0;  ///< The largest code.
};
/// Grids that are tried together: step = (code - zero) * factor.
struct GridTrials {
  static constexpr int kCount = 16;
  float factor[kCount] = {}, zero[kCount] = {};
};
/// Squared errors of the grids in squared units.
struct GridErrors {
  float least[GridTrials::kCount];   ///< With the best factor for the codes of the grid.
  float factor[GridTrials::kCount];  ///< This best factor.
  float stored[GridTrials::kCount];  ///< With the factor of the trial.
};

QQ_DECLARE_ISA(
    BlockSpread measure_block(std::span<const float> values);
    /// Computes (typical + |value|) * importance as a part of the largest one. `importance` is empty or [values].
    void weigh_block(std::span<const float> values, std::span<const float> importance, float typical, float* weights);
    void divide_block(std::span<const float> values, float unit, float* steps);
    /// Entries without a best factor (no code but the zero point) are NaN.
    void try_grids(const BlockSteps& block, const GridTrials& trials, GridErrors& found);
    /// Computes the codes of `values` for a grid.
    void round_block(std::span<const float> values, const BlockGrid& grid, float largest, uint8_t* codes);)

}  // namespace quarkq::qdq
