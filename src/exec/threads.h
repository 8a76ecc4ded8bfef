// SPDX-License-Identifier: MIT
// How many threads kernels use. Results do not depend on it.
#pragma once

#include <string>

namespace quarkq::exec {

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
