// SPDX-License-Identifier: MIT
#include "exec/resources.h"

#include <omp.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>

#include "base/machine.h"
#include "base/stopwatch.h"
#include "base/strings.h"

namespace quarkq::exec {

namespace {

std::atomic<int64_t> ceiling{0};

constexpr int64_t kReserved = 10;                    // one part in so many: code, threads, holes between blocks
constexpr int64_t kMostMapped = int64_t{160} << 20;  // pages of weights on disk that may become resident
constexpr int64_t kMappedShare = 8;                  // of the ceiling at most

}  // namespace

void set_memory_ceiling(int64_t bytes) { ceiling = bytes; }

bool has_memory_ceiling() { return ceiling > 0; }

int64_t memory_left() {
  const int64_t bytes = ceiling;
  const auto taken = static_cast<int64_t>(resident_memory().all);
  return std::max<int64_t>(0, bytes - bytes / kReserved - std::min(kMostMapped, bytes / kMappedShare) - taken);
}

int64_t allowed_memory(int64_t max_memory) { return max_memory > 0 ? max_memory : granted_memory(); }

Status check_memory(const Prepare& prepare, int64_t allowed) {
  auto needed = static_cast<double>(prepare.scratch_bytes());
  for (size_t i = 0; i < prepare.output_count(); ++i) {
    const Prepare::Output& output = prepare.output(i);
    if (!output.declared || output.alias_of >= 0) continue;
    QQ_TRY(const int64_t count, Result<int64_t>(ir::element_count(output.spec.dims)).context(prepare.label()));
    needed += static_cast<double>(storage_bytes(output.spec.type, count));
  }
  if (needed <= static_cast<double>(allowed)) return Status();
  return resource_error(prepare.label(), ": needs ", bytes_text(needed), " for its outputs, allowed are ",
                        bytes_text(static_cast<double>(allowed)));
}

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
