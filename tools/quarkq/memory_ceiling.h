// SPDX-License-Identifier: MIT
// --max-memory: an upper bound on the resident memory of the whole process.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"
#include "quarkq/analyze.h"
#include "quarkq/status.h"

namespace quarkq::tool {

// Threads that monitor memory and end the process with a message, with the exit code of kResource and after removing
// unfinished files, before the system would kill it.

/// Returns a size in the format of --max-memory, in MiB, rounded up.
std::string size_text(int64_t bytes);

/// Blocks until the process uses more than `bytes`, and returns its usage.
int64_t wait_beyond(int64_t bytes);

/// Ends the process as soon as it uses more than `bytes`. 0 has no effect.
void stop_beyond(int64_t bytes);

/// Ends the process when the machine, or the container, has almost no memory left and this process uses much of it.
void stop_when_memory_runs_out();

/// Adds --max-memory SIZE; "2G" and "500M" are powers of 1024. `bytes` stays 0 if the option is not given.
void add_memory_option(CLI::App& app, int64_t& bytes);

/// Adds --max-memory for a verb without a dry run. `ceiling` is the memory ceiling of its request: models run segment
/// by segment from the start, and the process ends beyond the bound.
void add_ceiling_option(CLI::App& app, int64_t& ceiling);

/// How a run stays within a memory bound.
struct MemoryFit {
  int threads = 0;
  bool in_segments = true;  ///< False if programs of whole models need less: cutting large activations adds copies.
  bool finetunes = false;   ///< Fine-tuning, which a dry run omits, needs a budget.
};

/// A run of the request with these resources that writes nothing.
using DryRun = std::function<Result<Forecast>(int threads, int64_t memory_ceiling)>;

/// Measures the memory of `dry_run` in a separate process under the bound: in segments, then with whole programs, each
/// with `threads` threads and with one. Fails with kResource if all of these exceed the bound; the message names a
/// sufficient one. Errors of the run itself are left to the run. Where the system cannot copy a process, nothing is
/// measured: the run uses segments, and stop_beyond() enforces the bound. REQUIRES: no thread is running except the
/// memory monitor, which takes no lock.
Result<MemoryFit> fit_memory(const std::string& model, int threads, int64_t bytes, const DryRun& dry_run);

/// Adapts `request` to stay within `bytes`; fine-tuning uses the bound as its budget. 0 has no effect.
template <typename Request>
Status fit_memory(Request& request, int64_t bytes) {
  if (bytes <= 0) return Status();
  QQ_TRY(const MemoryFit fit, fit_memory(request.model_path, request.threads, bytes, [&](int threads, int64_t ceiling) {
           Request tried = request;
           tried.threads = threads;
           tried.memory_ceiling = ceiling;
           tried.progress = nullptr;
           return forecast(tried);
         }));
  request.threads = fit.threads;
  if (fit.in_segments) request.memory_ceiling = bytes;
  if (fit.finetunes) request.settings.push_back(cat("FastFinetune.MemoryBudgetMB=", bytes >> 20));
  return Status();
}

}  // namespace quarkq::tool
