// SPDX-License-Identifier: MIT
// What a container grants this process: the least of the limits of its control groups and of the groups around them;
// nothing when no group limits it. `root`: where /proc and /sys are, for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace quarkq {

/// Processors (1.5: one and a half).
std::optional<double> cpu_quota(const std::string& root = "");

/// Bytes of memory, before the system ends a process of the group.
std::optional<int64_t> memory_quota(const std::string& root = "");

/// Bytes of memory of the machine, or of the container where that is less.
int64_t granted_memory();

}  // namespace quarkq
