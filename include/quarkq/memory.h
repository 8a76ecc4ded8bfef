// SPDX-License-Identifier: MIT
// A ceiling on the memory of the process.
#pragma once

#include <cstdint>

namespace quarkq {

/// Runs that begin from now on take at most about `bytes` of resident memory, all of the process counted: models run
/// segment by segment, and values that wait lie in temporary files (docs/large-models.md). Results have the same bytes.
/// What takes more even so is not refused. 0: no ceiling.
void set_memory_ceiling(int64_t bytes);

}  // namespace quarkq
