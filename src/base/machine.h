// SPDX-License-Identifier: MIT
// Memory in use, of the whole machine and of this process. No function here allocates, so they work when memory is
// exhausted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace quarkq {

/// Memory of the machine in bytes; all members are 0 if the system does not report them.
struct SystemMemory {
  int64_t total = 0;
  int64_t available = 0;  ///< Available without swapping.
  int64_t free_swap = 0;
};

/// Reads `path`, in the format of Linux's /proc/meminfo.
SystemMemory system_memory(const char* path = "/proc/meminfo");

/// Resident memory of this process in bytes; 0 if the system does not report it.
struct ResidentMemory {
  size_t all = 0;
  size_t of_files = 0;  ///< Pages of mapped files, including the program itself.
};
ResidentMemory resident_memory();

// Limits of a container: the smallest limit of the process' control groups and of the groups around them. Return
// nullopt if no group has a limit. `root` is the parent of /proc and /sys, for tests.

/// Returns the number of processors (1.5: one and a half).
std::optional<double> cpu_quota(const std::string& root = "");

/// Returns the bytes of memory above which the system ends a process of the group.
std::optional<int64_t> memory_quota(const std::string& root = "");

/// Returns the bytes of memory of the machine, or of the container if that is less.
int64_t granted_memory();

}  // namespace quarkq
