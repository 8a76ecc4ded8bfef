// SPDX-License-Identifier: MIT
// Memory in use: what is left of the machine's, for all processes, and what this one has taken. Nothing here allocates,
// so that it can be asked when nothing is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace quarkq {

/// Bytes; all are 0 when the system does not say.
struct SystemMemory {
  int64_t total = 0;
  int64_t available = 0;  ///< without swapping
  int64_t free_swap = 0;
};

/// What `path` says, in the form of Linux's /proc/meminfo.
SystemMemory system_memory(const char* path = "/proc/meminfo");

/// Bytes of this process in memory; 0 when the system does not say.
struct ResidentMemory {
  size_t all = 0;
  size_t of_files = 0;  ///< pages of mapped files, those of the program included
};
ResidentMemory resident_memory();

// What a container grants this process: the least of the limits of its control groups and of the groups around them;
// nothing when no group limits it. `root`: where /proc and /sys are, for tests.

/// Processors (1.5: one and a half).
std::optional<double> cpu_quota(const std::string& root = "");

/// Bytes of memory, before the system ends a process of the group.
std::optional<int64_t> memory_quota(const std::string& root = "");

/// Bytes of memory of the machine, or of the container where that is less.
int64_t granted_memory();

}  // namespace quarkq
