// SPDX-License-Identifier: MIT
// 4-bit weights in blocks along the depth of a matrix, in the format of com.microsoft MatMulNBits
// (ref:writing#matmulnbits). Pure functions on arrays: a weight is [depth, columns], row-major.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "config/low_bit_weights.h"
#include "numeric/real_numbers.h"
#include "pass/context.h"

namespace quarkq::qdq {

constexpr float kLargestNBitsCode = 15;

struct NBitsShape {
  int64_t depth = 0, columns = 0, block = 128;
  int64_t blocks() const { return (depth + block - 1) / block; }  ///< Returns the number of blocks in one column.
};

/// Codes are [columns, blocks, block], one per entry; entries beyond the depth are padding. Scales and zero points are
/// [columns, blocks].
struct NBitsWeight {
  std::vector<uint8_t> codes;
  std::vector<float> scales;
  std::vector<float> zeros;  ///< Integers, except for methods with real zero points.
};

/// The stored form of an NBitsWeight: two codes per byte, [columns, blocks, block / 2].
struct PackedNBits {
  std::vector<uint8_t> codes;
  std::vector<float> scales, zeros;
};

/// Clamps `code` to [0, kLargestNBitsCode]. Returns 0 for NaN.
inline float limited_nbits_code(float code) { return code > 0 ? std::min(code, kLargestNBitsCode) : 0.0f; }
inline float nearest_nbits_code(float steps) { return limited_nbits_code(numeric::round_half_even(steps)); }

/// Returns the block's values of one column in order; fewer at the end of the column.
std::vector<float> block_values(std::span<const float> weight, const NBitsShape& shape, int64_t column, int64_t block);

/// Rounds each block independently, like ONNX Runtime's tool. Symmetric scales may be negative.
NBitsWeight round_blocks(std::span<const float> weight, const NBitsShape& shape, bool symmetric);
/// Computes packed(round_blocks()) with vectorized loops and all threads.
PackedNBits round_packed_blocks(std::span<const float> weight, const NBitsShape& shape, bool symmetric);
/// REQUIRES: an even block size.
PackedNBits packed(NBitsWeight weight, const NBitsShape& shape);
/// Half-quadratic quantization: moves the zero points, as real numbers, until the error no longer decreases.
NBitsWeight hqq_blocks(std::span<const float> weight, const NBitsShape& shape);
/// Computes scale and zero point of each block by least squares, with each value weighted by its magnitude and the root
/// mean square of the block, like ggml's k-quants. Unlike there and in ONNX Runtime's tool, trials are judged with the
/// rounded, stored zero point, so the result is never worse than round_blocks(). The last block of a column is padded
/// with zeros, which count.
NBitsWeight k_quant_blocks(std::span<const float> weight, const NBitsShape& shape);
/// Returns the reference's storage of weights rounded by GPTQ: rounded again, with new blocks.
NBitsWeight round_again(std::span<const float> weight, const NBitsShape& shape, bool symmetric);

/// Packs two codes per byte, the first in the low half. If the number of `values` per row is odd, the last half is
/// `rest`.
std::vector<uint8_t> pack_nibbles(std::span<const uint8_t> values, int64_t row, uint8_t rest);

// MatMulNBitsParams.EmbeddingBits (ref:writing#embedding-tables): the tables that Gather reads, in 8 bits.

/// A table of which only some rows are read. It stays in memory as codes, and a row is expanded when it is gathered.
struct TableBlocks {
  int64_t rows = 0, width = 0, block = 128;
  int64_t blocks() const { return (width + block - 1) / block; }  ///< Returns the number of blocks in one row.
};
struct TableCodes {
  std::vector<uint8_t> codes;  ///< [rows, width], zero point 128
  std::vector<float> scales;   ///< [rows, blocks]
};

/// Scales each block by its largest magnitude, which becomes code 128 +- 127. Scales are rounded to `type`, float32 or
/// float16. REQUIRES: finite values.
TableCodes round_table(std::span<const float> values, const TableBlocks& shape, ElementType type);

/// Replaces every stored float table that only Gather nodes read by GatherBlockQuantized of com.microsoft. A table with
/// other readers, such as tied output weights, is kept and reported.
Result<Changed> quantize_embedding_tables(pass::QdqContext& context, const config::MatMulNBitsSettings& options);

}  // namespace quarkq::qdq
