// SPDX-License-Identifier: MIT
// Places buffers with known lifetimes in one arena.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"

namespace quarkq::exec {

/// A buffer needed from step `first` to step `last`, both inclusive.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  ///< one per lifetime, multiples of 64
  size_t total = 0;             ///< bytes of the arena
};

/// Best-fit placement in order of first use. Buffers that live at the same step never overlap. O(n log n).
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes);

}  // namespace quarkq::exec
