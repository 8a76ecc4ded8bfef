// SPDX-License-Identifier: MIT
#include "exec/threads.h"

#include <omp.h>

#include <algorithm>

#include "base/stopwatch.h"

namespace quarkq::exec {
namespace {

constexpr double kProbeSeconds = 0.012;   // three time slices of the scheduler: a busy core shows in one of them
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

}  // namespace

void set_threads(int threads) {
  if (threads > 0) {
    omp_set_num_threads(threads);
    return;
  }
  static const int all = omp_get_max_threads();
  int free_threads = all;
  // The first region makes the threads, which is no sign of a busy machine.
  if (all > 1) stalled_share(all);
  while (free_threads > 1 && stalled_share(free_threads) > kStalledShare) free_threads = (free_threads + 1) / 2;
  omp_set_num_threads(free_threads);
}

}  // namespace quarkq::exec
