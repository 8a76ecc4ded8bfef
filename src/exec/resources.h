// SPDX-License-Identifier: MIT
// Rejection of runs that cannot fit into memory: models are untrusted, and a shape can claim any size.
#pragma once

#include <cstdint>
#include <string>

#include "exec/op_def.h"

namespace quarkq::exec {

/// Returns the bytes that a run may use: `max_memory`, or if that is 0 the memory of the machine, or of the container
/// if that is less.
int64_t allowed_memory(int64_t max_memory);

/// Sets an upper bound on the resident memory of the process. Later runs are divided into segments that fit into the
/// remaining memory (ADR 0016). 0: no bound.
void set_memory_ceiling(int64_t bytes);
bool has_memory_ceiling();
/// Returns the remaining memory under the ceiling, minus a reserve for uncounted memory; at least 0. REQUIRES:
/// has_memory_ceiling().
int64_t memory_left();

/// Fails if the outputs and the temporary memory declared by `prepare` need more than `allowed` bytes. The message
/// names the node and its size.
Status check_memory(const Prepare& prepare, int64_t allowed);

// Number of threads of kernels. Results do not depend on it.

/// The number of threads, and why it is less than the number of cores: empty if there is one per core, or if the number
/// was requested.
struct ThreadChoice {
  int threads = 1;
  std::string why;
};

/// Sets the number of threads of kernels. 0 uses the currently free cores: no more than a container grants (cgroup
/// quota, cpuset), and fewer if a thread would share its core with another process and delay every parallel region (ADR
/// 0003).
ThreadChoice set_threads(int threads);

/// Returns the number of threads for independent parts of work, such as concurrent samples. Includes cores that
/// set_threads() did not use because others are busy. Inside such a part, returns the threads of that part.
int independent_threads();

}  // namespace quarkq::exec
