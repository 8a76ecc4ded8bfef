// SPDX-License-Identifier: MIT
// How much processor time a container grants.
#pragma once

#include <optional>
#include <string>

namespace quarkq {

/// Processors that the control groups of this process grant at most (1.5: one and a half), the least of them and of the
/// groups around them; nothing when no group limits it. `root`: where /proc and /sys are, for tests.
std::optional<double> cpu_quota(const std::string& root = "");

}  // namespace quarkq
