// SPDX-License-Identifier: MIT
// MatMulNBitsParams.EmbeddingBits (ref:writing#embedding-tables): the tables that Gather reads, in 4 or 8 bits. A table
// of which only some rows are read stays in memory as codes, and a row is expanded when it is gathered.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/low_bit_weights.h"
#include "pass/context.h"
#include "qdq/write/nbits_matrices.h"

namespace quarkq::qdq {

struct TableBlocks {
  int64_t rows = 0, width = 0, block = 128;
  int bits = 8;  ///< 4 or 8.

  int64_t blocks() const { return (width + block - 1) / block; }  ///< Returns the number of blocks in one row.
  int64_t row_bytes() const { return width * bits / 8; }
};
struct TableCodes {
  std::vector<uint8_t> codes;  ///< [rows, row_bytes()]; the zero point is the middle code.
  std::vector<float> scales;   ///< [rows, blocks]
};

/// 8 bits: scales each block by its largest magnitude, which becomes code 128 +- 127. 4 bits: symmetric blocks of
/// fit_k_quant(). Scales are rounded to `type`, float32 or float16. REQUIRES: finite values and whole bytes per row.
TableCodes round_table(std::span<const float> values, const TableBlocks& shape, ElementType type);

/// A stored float table that only Gather nodes read.
struct LookupTable {
  ir::ValueId value;
  std::string name;
  config::NBitsFormat format;
  std::optional<size_t> tied_to;  ///< Index of the matrix that is the transpose of the table.
};

/// Returns the tables to be quantized. A table with other readers is reported and left out. A table whose transpose is
/// one of `matrices` is tied to that matrix if both can be stored once.
Result<std::vector<LookupTable>> find_lookup_tables(pass::QdqContext& context,
                                                    const config::MatMulNBitsSettings& options,
                                                    const std::vector<LowBitMatrix>& matrices);

/// Replaces the Gather nodes of the table by GatherBlockQuantized of com.microsoft.
Status write_table(pass::QdqContext& context, const LookupTable& table);

/// Replaces the Gather nodes of a table that is tied to a matrix. The new nodes read `stored`, which
/// NBitsWriter::store() returned for the matrix with scales_are_matrix. REQUIRES: the depth of `shape` is a multiple of
/// its block, and integer zero points.
void write_tied_table(pass::QdqContext& context, const LookupTable& table, const std::vector<ir::ValueId>& stored,
                      const NBitsShape& shape);

}  // namespace quarkq::qdq
