// SPDX-License-Identifier: MIT
// --sandbox: what a fault in this program could still do is bounded by the system (Linux: Landlock and seccomp).
#pragma once

#include <linux/filter.h>
#include <CLI/CLI.hpp>
#include <vector>

#include "base/error.h"

namespace quarkq::tool {

// The system calls that --sandbox allows.

/// Returns the seccomp filter for the process `own`. A call is allowed only if it is listed; every other call fails
/// with EPERM, and calls newer than the list fail with ENOSYS as on an older kernel. The filter does not depend on
/// Landlock: it also refuses what older versions of Landlock do not handle (signals, truncation, ioctl of devices).
std::vector<sock_filter> filter_of_calls(int own);

/// --sandbox, for every verb.
void add_sandbox_option(CLI::App& app, bool& is_sandboxed);

/// Gives up what `verb`, whose options are parsed, does not need, for this process and for good: files may be written,
/// made and removed only in the folders of its outputs and in the folder of temporary files; there is no network, no
/// program or process is started, no other process is touched. Files can still be read. Output folders are made,
/// because what does not exist cannot be allowed. Fails (kIo) where the system cannot do all of this: a promise that is
/// not kept would be worse than none. Fails (kInvalidArgument) for options that start processes. REQUIRES: no other
/// thread runs.
Status enter_sandbox(const CLI::App& verb);

}  // namespace quarkq::tool
