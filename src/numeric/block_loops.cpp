// SPDX-License-Identifier: MIT
#include "numeric/block_loops.h"

#include <algorithm>
#include <bit>

namespace quarkq::numeric {
namespace {

constexpr int64_t kTileElements = 1024;       ///< of blocks whose elements lie side by side; stays in the first cache
constexpr int64_t kGatheredElements = 65536;  ///< of blocks that are copied together, about
constexpr int64_t kMostGathered = 64;         ///< blocks

int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/// Parts of a vector, or whole vectors. Zeros fill it up: they change nothing about the others.
int64_t padded_size(int64_t size) {
  return size > kBlockLanes ? rounded_up(size, kBlockLanes)
                            : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size)));
}

bool fits_vectors(int64_t sub_block, int64_t block) {
  return sub_block == block || padded_size(sub_block) == sub_block;
}

void plan_within(BlockWork& work, int64_t sub_block) {
  work.is_within = true;
  work.padded_block = padded_size(work.split.block);
  work.padded_part = sub_block == work.split.block ? work.padded_block : sub_block;
  work.tile = std::max(kTileElements / work.padded_block * work.padded_block, work.padded_block);
}

}  // namespace

BlockWork plan_blocks(const BlockSplit& split, int64_t begin, int64_t end, int64_t sub_block) {
  BlockWork work;
  work.split = split;
  work.begin = begin;
  work.end = end;
  size_t values = 0;
  if (split.inner == 1 && fits_vectors(sub_block, split.block)) {
    plan_within(work, sub_block);
    const bool is_dense = work.padded_block == split.block && split.length % split.block == 0;
    if (!is_dense) values = static_cast<size_t>(work.tile);
  } else if (split.inner < kFewColumns) {
    // Few columns for long blocks: not more memory than the tensor takes.
    const int64_t columns = std::clamp(kGatheredElements / split.block, kBlockLanes, kMostGathered);
    work.tile = std::min(rounded_up(columns, kBlockLanes), rounded_up(end - begin, kBlockLanes));
    values = static_cast<size_t>(work.tile) * static_cast<size_t>(split.block);
  }
  const auto fields = static_cast<size_t>(std::max(rounded_up(work.tile, kBlockLanes), kBlockColumns));
  work.values = std::make_unique_for_overwrite<float[]>(values);
  work.fields = std::make_unique_for_overwrite<int32_t[]>(fields);
  work.parts = std::make_unique_for_overwrite<int32_t[]>(fields);
  return work;
}

}  // namespace quarkq::numeric
