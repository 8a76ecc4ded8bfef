// SPDX-License-Identifier: MIT
// Vectorized twins of convert_bfp_block() and convert_mx_block() for whole tensors: the same bits, tested on every
// instruction set. convert_bfp() and convert_mx() are the way in; they plan the work and lend the memory.
#pragma once

#include <cstdint>
#include <memory>

#include "base/isa.h"
#include "numeric/bfp.h"
#include "numeric/mx.h"

namespace quarkq::numeric {

/// Blocks [begin, end) of `split`, how the loops go through them, and their scratch memory (which no *.isa.cpp file may
/// allocate: templates of the standard library compiled there would need that instruction set everywhere).
struct BlockWork {
  BlockSplit split;
  int64_t begin = 0, end = 0;
  bool is_within = false;    ///< elements of a block lie side by side; else one lane works on each block
  int64_t padded_block = 1;  ///< is_within: elements that a block takes up in `values`
  int64_t padded_part = 1;   ///< is_within: the same for a sub-block
  int64_t tile = 0;          ///< elements (is_within) or blocks side by side in `values`
  std::unique_ptr<float[]> values;
  std::unique_ptr<int32_t[]> fields, parts;  ///< room for kBlockColumns and for a tile
};

constexpr int64_t kBlockColumns = 256;  ///< most blocks side by side
constexpr int64_t kBlockLanes = 16;     ///< of the widest vectors; columns and tiles are multiples
constexpr int64_t kFewColumns = 16;     ///< with fewer runs side by side than this, they are copied together first

/// `sub_block`: elements of a part of a block with an exponent of its own; the block where there are none.
BlockWork plan_blocks(const BlockSplit& split, int64_t begin, int64_t end, int64_t sub_block);

// y may be x.
QQ_DECLARE_ISA(void bfp_blocks(const float* x, float* y, const BlockWork& work, const BfpSettings& settings);
               void mx_blocks(const float* x, float* y, const BlockWork& work, const MxSettings& settings);)

}  // namespace quarkq::numeric
