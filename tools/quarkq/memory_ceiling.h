// SPDX-License-Identifier: MIT
// --max-memory: a ceiling on the resident memory of the whole process.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"
#include "quarkq/analyze.h"
#include "quarkq/status.h"

namespace quarkq::tool {

// Threads that look at the memory in use and end the process, with the exit code of kResource and after removing
// unfinished files, before the system ends it without a word.

/// In the form that --max-memory takes, in MiB, rounded up.
std::string size_text(int64_t bytes);

/// Returns when the process has taken more than `bytes`, and how much.
int64_t wait_beyond(int64_t bytes);

/// From now on the process ends as soon as it takes more than `bytes`. 0 does nothing.
void stop_beyond(int64_t bytes);

/// From now on the process ends when the machine, or the container, has almost no memory left and this process has
/// taken much of it.
void stop_when_memory_runs_out();

/// --max-memory SIZE in bytes; "2G" and "500M" are powers of 1024. 0 is left when it is not given.
void add_memory_option(CLI::App& app, int64_t& bytes);

/// --max-memory of a verb without a dry run: `ceiling` becomes that of the request, so that models run segment by
/// segment from the start, and the process ends beyond it.
void add_ceiling_option(CLI::App& app, int64_t& ceiling);

/// How a run stays within a ceiling.
struct MemoryFit {
  int threads = 0;
  bool in_segments = true;  ///< else programs of whole models take less: cutting large activations adds copies
  bool finetunes = false;   ///< fine-tuning, which a dry run leaves out, needs a budget
};

/// A run of a request with these resources that writes nothing.
using DryRun = std::function<Result<Forecast>(int threads, int64_t memory_ceiling)>;

/// Measures what `dry_run` takes in a process of its own under that ceiling: in segments, then with whole
/// programs, each with the `threads` asked for and with a single one. Fails (kResource) when all of that is too much
/// and says which ceiling does. What the run would refuse is left to it. REQUIRES: no other thread runs but the one
/// that watches the memory, which takes no lock.
Result<MemoryFit> fit_memory(const std::string& model, int threads, int64_t bytes, const DryRun& dry_run);

/// Makes `request` one that stays within `bytes`; fine-tuning gets the ceiling as its budget. 0 does nothing.
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
