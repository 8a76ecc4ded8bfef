// SPDX-License-Identifier: MIT
// 4-bit weights in blocks along the depth of a matrix, as com.microsoft MatMulNBits takes them
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
  int64_t blocks() const { return (depth + block - 1) / block; }  ///< of one column
};

/// Codes are [columns, blocks, block], one per entry; what lies beyond the depth is padding. Scales and zero points are
/// [columns, blocks].
struct NBitsWeight {
  std::vector<uint8_t> codes;
  std::vector<float> scales;
  std::vector<float> zeros;  ///< integers unless the method says otherwise
};

/// What is stored of an NBitsWeight: two codes a byte, [columns, blocks, block / 2].
struct PackedNBits {
  std::vector<uint8_t> codes;
  std::vector<float> scales, zeros;
};

/// Clamps `code` to [0, kLargestNBitsCode]. Returns 0 for NaN.
inline float limited_nbits_code(float code) { return code > 0 ? std::min(code, kLargestNBitsCode) : 0.0f; }
inline float nearest_nbits_code(float steps) { return limited_nbits_code(numeric::round_half_even(steps)); }

/// The block's values of one column in order; fewer at the end of the column.
std::vector<float> block_values(std::span<const float> weight, const NBitsShape& shape, int64_t column, int64_t block);

/// Each block rounded for itself, as ONNX Runtime's tool does. Symmetric scales may be negative.
NBitsWeight round_blocks(std::span<const float> weight, const NBitsShape& shape, bool symmetric);
/// The same, packed, with vectorized loops and all threads.
PackedNBits round_packed_blocks(std::span<const float> weight, const NBitsShape& shape, bool symmetric);
/// REQUIRES: an even block.
PackedNBits packed(NBitsWeight weight, const NBitsShape& shape);
/// Half-quadratic quantization: zero points are moved, as real numbers, until the error no longer shrinks.
NBitsWeight hqq_blocks(std::span<const float> weight, const NBitsShape& shape);
/// Scale and zero point of each block by least squares, each value weighted by its magnitude and the root mean square
/// of the block, as in ggml's k-quants. Unlike there, and in ONNX Runtime's tool, trials are judged with the rounded
/// zero point that is stored, so that none is worse than round_blocks(). The last block of a column is filled up with
/// zeros, which count.
NBitsWeight k_quant_blocks(std::span<const float> weight, const NBitsShape& shape);
/// How the reference stores what GPTQ rounded: rounded once more, to blocks of its own.
NBitsWeight round_again(std::span<const float> weight, const NBitsShape& shape, bool symmetric);

/// Two codes a byte, the first in the low half. An odd count of `values` per row leaves the last half at `rest`.
std::vector<uint8_t> pack_nibbles(std::span<const uint8_t> values, int64_t row, uint8_t rest);

// MatMulNBitsParams.EmbeddingBits (ref:writing#embedding-tables): the tables that Gather reads, in 8 bits.

/// A table of which only some rows are read stays as codes in memory, a row is expanded when it is gathered.
struct TableBlocks {
  int64_t rows = 0, width = 0, block = 128;
  int64_t blocks() const { return (width + block - 1) / block; }  ///< of one row
};
struct TableCodes {
  std::vector<uint8_t> codes;  ///< [rows, width], zero point 128
  std::vector<float> scales;   ///< [rows, blocks]
};

/// Each block by its largest magnitude, which becomes code 128 +- 127. Scales are those that `type` stores, float32 or
/// float16. REQUIRES: finite values.
TableCodes round_table(std::span<const float> values, const TableBlocks& shape, ElementType type);

/// Every stored table of floats that only Gather nodes read becomes GatherBlockQuantized of com.microsoft. One that
/// other nodes read too, such as tied output weights, stays as it is and is reported.
Result<Changed> quantize_embedding_tables(pass::QdqContext& context, const config::MatMulNBitsSettings& options);

}  // namespace quarkq::qdq
