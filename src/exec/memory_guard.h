// SPDX-License-Identifier: MIT
// Refuses runs that cannot fit into memory: models are untrusted, and a shape can claim any size.
#pragma once

#include <cstdint>

#include "exec/op_def.h"

namespace quarkq::exec {

/// Bytes that a run may use: `max_memory`, or when that is 0 the memory of the machine, or of the container where that
/// is less.
int64_t allowed_memory(int64_t max_memory);

/// A ceiling on the resident memory of the process: what runs from now on is split into segments that fit into what is
/// left (ADR 0016). 0: none.
void set_memory_ceiling(int64_t bytes);
bool has_memory_ceiling();
/// What the process may still take below its ceiling, with a reserve for what is not counted; not below 0.
/// REQUIRES: has_memory_ceiling().
int64_t memory_left();

/// Fails when the outputs and the temporary memory that `prepare` declares need more than `allowed` bytes. The message
/// names the node and what it needs.
Status check_memory(const Prepare& prepare, int64_t allowed);

}  // namespace quarkq::exec
