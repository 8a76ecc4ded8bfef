// SPDX-License-Identifier: MIT
// Loops over the elements of an array by several threads, without sums.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/parallel.h"

namespace quarkq::planning::finetune {

constexpr int64_t kWeightsPerPiece = 2048;

/// Calls f(i) for each i of [0, count), in pieces; by one thread where several would not save time.
template <typename F>
void for_each_element(size_t count, int64_t piece, const F& f) {
  const auto size = static_cast<int64_t>(count);
  parallel_pieces(size, piece, {.threads = size > 2 * piece ? 0 : 1}, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(static_cast<size_t>(i));
  });
}

}  // namespace quarkq::planning::finetune
