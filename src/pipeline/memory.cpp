// SPDX-License-Identifier: MIT
#include "quarkq/memory.h"

#include "exec/memory_guard.h"

namespace quarkq {

void set_memory_ceiling(int64_t bytes) { exec::set_memory_ceiling(bytes); }

}  // namespace quarkq
