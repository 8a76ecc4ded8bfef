// SPDX-License-Identifier: MIT
#include "exec/threads.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/control_groups.h"
#include "base/stopwatch.h"
#include "base/strings.h"

namespace quarkq::exec {
namespace {

constexpr double kProbeSeconds = 0.012;   // three time slices of the scheduler, one of which reveals a busy core
constexpr double kStallSeconds = 0.0002;  // an empty region takes 0.000002 s on free cores
constexpr double kStalledShare = 0.1;

/// Share of the time that empty parallel regions of `threads` threads spent waiting for a core.
double stalled_share(int threads) {
  const Stopwatch whole;
  double stalled = 0;
  while (whole.seconds() < kProbeSeconds) {
    const Stopwatch region;
#pragma omp parallel num_threads(threads)
    {}
    if (region.seconds() > kStallSeconds) stalled += region.seconds();
  }
  return stalled / whole.seconds();
}

/// A quota of half a processor more is worth another thread; below that it would mostly wait.
int granted_threads(int cores) {
  const std::optional<double> quota = cpu_quota();
  if (!quota || *quota >= cores) return cores;
  return std::max(1, static_cast<int>(std::lround(*quota)));
}

/// What the thread of a run chose. Those that it starts have none.
struct Chosen {
  int threads = 0;
  int independent = 0;  ///< at least as many
};
thread_local Chosen chosen;

void keep_choice(int threads, int independent) {
  omp_set_num_threads(threads);
  chosen = {threads, independent};
}

}  // namespace

int independent_threads() {
  const int threads = omp_get_max_threads();
  return threads == chosen.threads ? chosen.independent : threads;
}

ThreadChoice set_threads(int threads) {
  if (threads > 0) {
    keep_choice(threads, threads);
    return {threads, ""};
  }
  static const int cores = omp_get_max_threads();  // of the cpuset
  static const int granted = granted_threads(cores);
  int free_threads = granted;
  // The first region makes the threads, which does not indicate a busy machine.
  if (granted > 1) stalled_share(granted);
  while (free_threads > 1 && stalled_share(free_threads) > kStalledShare) free_threads = (free_threads + 1) / 2;
  keep_choice(free_threads, granted);
  if (free_threads < granted)
    return {free_threads, cat(free_threads, " of ", granted, " cores free; ", granted, " samples run at once")};
  if (granted < cores) return {granted, cat("the container's quota grants ", granted, " of ", cores, " cores")};
  return {granted, ""};
}

}  // namespace quarkq::exec
