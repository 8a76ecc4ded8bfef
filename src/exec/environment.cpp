// SPDX-License-Identifier: MIT
#include "exec/environment.h"

#include <omp.h>
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/machine.h"
#include "base/parallel.h"
#include "base/platform/process.h"
#include "base/stopwatch.h"
#include "base/strings.h"
#include "exec/op_def.h"

namespace quarkq::exec {

namespace {

constexpr int64_t kReserved = 10;                    // one part in so many: code, threads, holes between blocks
constexpr int64_t kMostMapped = int64_t{160} << 20;  // pages of weights on disk that may become resident
constexpr int64_t kMappedShare = 8;                  // upper bound: one part in so many of the ceiling

}  // namespace

const char* advice_without_kernel(const std::string& domain) {
  const bool is_of_runtime = domain.empty() || domain.starts_with("ai.onnx") || domain.starts_with("com.microsoft");
  return is_of_runtime ? "with --backend ort it runs in ONNX Runtime"
                       : "give the library that computes it, --set UserCustomOpLibPath=LIBRARY.so";
}

int64_t Environment::memory_left() const {
  const int64_t reserve = memory_ceiling / kReserved + std::min(kMostMapped, memory_ceiling / kMappedShare);
  return std::max<int64_t>(0, memory_ceiling - reserve - static_cast<int64_t>(resident_memory().all));
}

int Environment::independent_threads() const {
  const int own = omp_get_max_threads();
  return threads.caller == platform::thread_number() && threads.threads == own ? threads.independent : own;
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

ThreadChoice apply(int threads, int independent, std::string why) {
  omp_set_num_threads(threads);
  return {threads, independent, std::move(why), platform::thread_number()};
}

/// Returns the cores of the cpuset, or OMP_NUM_THREADS. A new thread has that number, whatever earlier runs chose for
/// the calling one.
int all_cores() {
  int cores = 1;
  on_threads(2, [&](size_t i) {
    if (i == 1) cores = omp_get_max_threads();
  });
  return cores;
}

}  // namespace

ThreadChoice set_threads(int threads) {
  if (threads > 0) return apply(threads, threads, "");
  static const int cores = all_cores();
  static const int granted = granted_threads(cores);
  int free_threads = granted;
  // The first region makes the threads, which does not indicate a busy machine.
  if (granted > 1) stalled_share(granted);
  while (free_threads > 1 && stalled_share(free_threads) > kStalledShare) free_threads = (free_threads + 1) / 2;
  std::string why;
  if (free_threads < granted) {
    why = cat(free_threads, " of ", granted, " cores free; ", granted, " samples run at once");
  } else if (granted < cores) {
    why = cat("the container's quota grants ", granted, " of ", cores, " cores");
  }
  return apply(free_threads, granted, std::move(why));
}

}  // namespace quarkq::exec
