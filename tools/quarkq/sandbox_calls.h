// SPDX-License-Identifier: MIT
// The system calls that --sandbox allows.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace quarkq::tool {

/// Returns the seccomp filter for the process `own`. A call is allowed only if it is listed; every other call fails
/// with EPERM, and calls newer than the list fail with ENOSYS as on an older kernel. The filter does not depend on
/// Landlock: it also refuses what older versions of Landlock do not handle (signals, truncation, ioctl of devices).
std::vector<sock_filter> filter_of_calls(int own);

}  // namespace quarkq::tool
