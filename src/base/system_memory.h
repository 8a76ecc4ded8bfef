// SPDX-License-Identifier: MIT
// What is left of the machine's memory, for all processes.
#pragma once

#include <cstdint>

namespace quarkq {

/// Bytes; all are 0 when the system does not say.
struct SystemMemory {
  int64_t total = 0;
  int64_t available = 0;  ///< without swapping
  int64_t free_swap = 0;
};

/// What `path` says, in the form of Linux's /proc/meminfo. Allocates nothing, so that it can be asked when nothing is
/// left.
SystemMemory system_memory(const char* path = "/proc/meminfo");

}  // namespace quarkq
