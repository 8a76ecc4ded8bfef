// SPDX-License-Identifier: MIT
#include "memory_watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include "base/control_groups.h"
#include "base/file_system.h"
#include "base/system_memory.h"
#include "messages.h"

namespace quarkq::tool {
namespace {

using std::chrono::microseconds;

/// Of the memory that there is: what is left at the end of a run, and what this process takes at least to be ended for
/// it.
constexpr int64_t kLeftShare = 64, kOwnShare = 4;
constexpr microseconds kShortest(2000), kLongest(200'000);
constexpr int64_t kBytesPerMicrosecond = 16'000;  // faster than processes take new pages

[[noreturn]] void end(const std::string& why) {
  print_error("error", why);
  remove_unfinished_files();
  _exit(exit_code(Code::kResource));
}

[[noreturn]] void watch_ceiling(int64_t bytes) {
  const int64_t taken = wait_beyond(bytes);
  end(cat("--max-memory: the run has taken ", size_text(taken), ", allowed are ", size_text(bytes)));
}

/// Looks seldom while much is left. `granted`: bytes of the machine or the container.
void watch_machine(int64_t granted) {
  for (;;) {
    const SystemMemory system = system_memory();
    if (system.total == 0) return;  // nobody says
    const ResidentMemory resident = resident_memory();
    const auto own = static_cast<int64_t>(resident.all - std::min(resident.all, resident.of_files));
    const int64_t total = std::min(system.total, granted);
    const int64_t left = std::min(system.available, granted - own) + system.free_swap;
    const int64_t spare = left - total / kLeftShare;
    if (spare < 0 && own > total / kOwnShare)
      end(cat("out of memory: the run has taken ", size_text(own), " of the ", size_text(total), " that this ",
              granted < system.total ? "container" : "machine", " has, and ", size_text(std::max(left, int64_t{0})),
              " are left; --threads 1 takes less, and so does --max-memory, where the verb has them "
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

}  // namespace quarkq::tool
