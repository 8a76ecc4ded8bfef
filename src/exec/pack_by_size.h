// SPDX-License-Identifier: MIT
// A second way to place buffers in one arena, for where memory matters more than the time to compile.
#pragma once

#include "exec/memory_plan.h"

namespace quarkq::exec {

/// The largest first, each at the lowest offset where nothing lies that lives at the same time. Leaves hardly a hole
/// where sizes are alike, which plan_memory() does not promise. O(n^2 log n).
MemoryPlan pack_by_size(const std::vector<Lifetime>& lifetimes);

}  // namespace quarkq::exec
