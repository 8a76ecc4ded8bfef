// SPDX-License-Identifier: MIT
// Refuses runs that cannot fit into memory: models are untrusted, and a shape can claim any size.
#pragma once

#include <cstdint>
#include <string>

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

// How many threads kernels use. Results do not depend on it.

/// How many threads were taken, and why not one for each core: "" when there is one, or when a number was asked for.
struct ThreadChoice {
  int threads = 1;
  std::string why;
};

/// Kernels use `threads` threads from now on. 0 uses as many as cores are free now: no more than a
/// container grants (cgroup quota, cpuset), and fewer where a thread would share its core with another process and
/// delay every parallel region (ADR 0003).
ThreadChoice set_threads(int threads);

/// Threads for work whose parts do not wait for one another, such as samples side by side: where others are busy, those
/// that set_threads() took fewer of, too. In a thread that does such a part: those that the part has.
int independent_threads();

}  // namespace quarkq::exec
