// SPDX-License-Identifier: MIT
#include "memory_ceiling.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "base/machine.h"
#include "base/platform/process.h"
#include "output.h"
#include "verb.h"

namespace quarkq::tool {

namespace {

using std::chrono::microseconds;

/// Shares of the memory: the remainder at which a run ends, and the usage of this process above which it may be ended.
constexpr int64_t kLeftShare = 64, kOwnShare = 4;
constexpr microseconds kShortest(2000), kLongest(200'000);
constexpr int64_t kBytesPerMicrosecond = 16'000;  // faster than processes take new pages

[[noreturn]] void end(const std::string& why) {
  print_error("error", why);
  remove_unfinished_files();
  platform::end_process(exit_code(Code::kResource));
}

[[noreturn]] void watch_ceiling(int64_t bytes) {
  const int64_t taken = wait_beyond(bytes);
  end(cat("--max-memory: the run has taken ", size_text(taken), ", allowed are ", size_text(bytes)));
}

/// Looks seldom while much is left. `granted`: bytes of the machine or the container.
void watch_machine(int64_t granted) {
  for (;;) {
    const SystemMemory system = system_memory();
    if (system.total == 0) return;  // the system does not report it
    const ResidentMemory resident = resident_memory();
    const auto own = static_cast<int64_t>(resident.all - std::min(resident.all, resident.of_files));
    const int64_t total = std::min(system.total, granted);
    const int64_t left = std::min(system.available, granted - own) + system.free_swap;
    const int64_t spare = left - total / kLeftShare;
    if (spare < 0 && own > total / kOwnShare)
      end(cat("out of memory: the run has taken ", size_text(own), " of the ", size_text(total), " that this ",
              granted < system.total ? "container" : "machine", " has, and ", size_text(std::max(left, int64_t{0})),
              " are left; to use less, pass --threads 1 or --max-memory if the verb has them "
              "(docs/large-models.md)"));
    std::this_thread::sleep_for(std::clamp(microseconds(spare / kBytesPerMicrosecond), kShortest, kLongest));
  }
}

}  // namespace

std::string size_text(int64_t bytes) {
  constexpr int64_t kMebibyte = int64_t{1} << 20;
  return cat((bytes + kMebibyte - 1) / kMebibyte, "M");
}

int64_t wait_beyond(int64_t bytes) {
  constexpr std::chrono::milliseconds kInterval(5);
  for (;; std::this_thread::sleep_for(kInterval)) {
    if (const auto taken = static_cast<int64_t>(resident_memory().all); taken > bytes) return taken;
  }
}

void stop_beyond(int64_t bytes) {
  if (bytes > 0) std::thread(watch_ceiling, bytes).detach();
}

void stop_when_memory_runs_out() {
  try {
    std::thread(watch_machine, granted_memory()).detach();
  } catch (const std::system_error&) {
    // No thread is to be had: the system then ends a run that takes too much.
  }
}

namespace {

constexpr const char* kHelp = "Upper bound on memory, such as 2G or 500M (docs/large-models.md)";
/// A run takes what its dry run took, but for what threads and the system's allocator vary. What is recommended has
/// more of a reserve, so that the same dry run does not refuse it the next time.
constexpr double kReserve = 1.05, kRecommended = 1.15;
/// A dry run may exceed the bound, so that the message can name a sufficient one; but not further than this, because
/// models are untrusted.
constexpr int64_t kMostTimes = 4, kMostAnyway = int64_t{1} << 30;
constexpr double kMostOfMachine = 0.8;
constexpr int kBeyond = 2;  // exit code of a dry run that took more

/// Result of a dry run for its parent process.
struct Found {
  int64_t bytes = 0;  ///< peak of resident memory; 0: the dry run failed, as the run will
  bool finetunes = false;
  bool is_beyond = false;  ///< it was ended because it took more than it may
};

Found try_here(const DryRun& dry_run, int threads, int64_t ceiling) {
  const Result<Forecast> found = dry_run(threads, ceiling);
  if (!found.ok()) return {};
  const bool finetunes = std::ranges::any_of(found.value().not_included,
                                             [](const std::string& text) { return text == "training of the layers"; });
  return {.bytes = static_cast<int64_t>(found.value().memory_bytes), .finetunes = finetunes};
}

[[noreturn]] void end_beyond(int64_t bytes) {
  wait_beyond(bytes);
  platform::end_process(kBeyond);
}

/// Memory bounds of the dry run's process.
struct Bounds {
  int64_t ceiling = 0;  ///< that segments are cut for; 0: whole programs
  int64_t most = 0;     ///< it ends beyond that
};

int64_t most_measured(int64_t ceiling) {
  const auto machine = static_cast<int64_t>(kMostOfMachine * static_cast<double>(granted_memory()));
  return std::max(ceiling, std::min(std::max(std::min(ceiling, machine) * kMostTimes, kMostAnyway), machine));
}

/// Returns nullopt if the process ended before it could report.
std::optional<Found> try_elsewhere(const DryRun& dry_run, int threads, const Bounds& bounds) {
  Found found;
  const auto outcome = platform::run_in_copy(
      [&](std::span<std::byte> answer) {
        std::thread(end_beyond, bounds.most).detach();
        const Found tried = try_here(dry_run, threads, bounds.ceiling);
        std::memcpy(answer.data(), &tried, sizeof tried);
      },
      std::as_writable_bytes(std::span(&found, 1)));
  if (!outcome) return std::nullopt;
  if (outcome->has_answered) return found;
  return outcome->exit_code == kBeyond ? std::optional(Found{.is_beyond = true}) : std::nullopt;
}

int64_t with_reserve(int64_t bytes, double factor) { return static_cast<int64_t>(static_cast<double>(bytes) * factor); }

/// The ways to run below a ceiling, the first that fits is taken.
std::vector<MemoryFit> ways_to_fit(int threads) {
  std::vector<MemoryFit> ways = {{.threads = threads}, {.threads = 1}};
  if (threads == 1) ways.pop_back();
  const size_t count = ways.size();
  for (size_t i = 0; i < count; ++i) ways.push_back({.threads = ways[i].threads, .in_segments = false});
  return ways;
}

/// Returns a recommendation after `way` used `taken` bytes. A higher bound creates larger segments, so the memory used
/// under a lower one is not sufficient: dry runs determine it, unless they need more than `most`.
std::string recommendation(const DryRun& dry_run, const MemoryFit& way, int64_t taken, int64_t most) {
  constexpr int kTries = 4;
  int64_t ceiling = with_reserve(taken, kRecommended);
  bool is_shown = !way.in_segments;
  for (int i = 0; !is_shown && i < kTries; ++i) {
    const std::optional<Found> found = try_elsewhere(dry_run, way.threads, {.ceiling = ceiling, .most = most});
    if (!found || found->is_beyond) break;
    is_shown = with_reserve(found->bytes, kReserve) <= ceiling;
    if (!is_shown) ceiling = with_reserve(found->bytes, kRecommended);
  }
  return cat(is_shown ? "the smallest that does is " : "try at least ", size_text(ceiling));
}

}  // namespace

void add_memory_option(CLI::App& app, int64_t& bytes) {
  add_size_option(app, "--max-memory", kHelp, [&bytes](int64_t found) { bytes = found; });
}

void add_ceiling_option(CLI::App& app, int64_t& ceiling) {
  add_size_option(app, "--max-memory", kHelp, [&ceiling](int64_t found) {
    ceiling = found;
    stop_beyond(found);
  });
}

Result<MemoryFit> fit_memory(const std::string& model, int threads, int64_t bytes, const DryRun& dry_run) {
  if (!platform::can_copy_process()) return MemoryFit{.threads = threads};
  const int64_t most = most_measured(bytes);
  std::optional<std::pair<int64_t, MemoryFit>> least;
  for (MemoryFit way : ways_to_fit(threads)) {
    if (!way.in_segments && !least) break;  // segments took far too much
    const Bounds bounds = {.ceiling = way.in_segments ? bytes : 0, .most = way.in_segments ? most : least->first};
    const std::optional<Found> found = try_elsewhere(dry_run, way.threads, bounds);
    if (!found && way.in_segments) return resource_error("--max-memory: the dry run that measures memory was ended");
    if (!found || found->is_beyond) continue;
    way.finetunes = found->finetunes;
    if (with_reserve(found->bytes, kReserve) <= bytes) return way;
    if (!least || found->bytes < least->first) least = {found->bytes, way};
  }
  if (!least)
    return resource_error(model, ": needs more than ", size_text(most), " with these settings; --max-memory allows ",
                          size_text(bytes), "; --dry-run without --max-memory measures how much");
  const auto& [taken, way] = *least;
  return resource_error(model, ": takes about ", size_text(taken), " with these settings",
                        way.in_segments ? ", in the smallest segments" : "", "; --max-memory allows ", size_text(bytes),
                        "; ", recommendation(dry_run, way, way.in_segments ? std::max(bytes, taken) : taken, most));
}

}  // namespace quarkq::tool
