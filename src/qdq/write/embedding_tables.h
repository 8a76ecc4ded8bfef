// SPDX-License-Identifier: MIT
// MatMulNBitsParams.EmbeddingBits (ref:writing#embedding-tables): the tables that Gather reads, in 8 bits.
#pragma once

#include "config/matmul_nbits_settings.h"
#include "pass/context.h"

namespace quarkq::qdq {

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
