// SPDX-License-Identifier: MIT
// Blocks of 2 to 8 bits by weighted least squares, like ggml's k-quants.
#pragma once

#include <span>

#include "qdq/write/nbits_blocks.h"

namespace quarkq::qdq {

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

}  // namespace quarkq::qdq
