// SPDX-License-Identifier: MIT
// --sandbox: the operating system bounds the effects of a fault in this program (Linux: Landlock and seccomp).
#pragma once

#include <CLI/CLI.hpp>

#include "base/error.h"

namespace quarkq::tool {

/// Adds --sandbox, for every verb.
void add_sandbox_option(CLI::App& app, bool& is_sandboxed);

/// Permanently drops the rights that `verb`, whose options are parsed, does not need: files can be written, created and
/// removed only in the folders of its outputs and in the folder of temporary files; there is no network access, no
/// program or process can be started, and no other process can be affected. Reading files is still allowed. Creates the
/// output folders, because a missing folder cannot be allowed. Fails with kIo if the system does not support all of
/// this, because a broken promise would be worse than none. Fails with kInvalidArgument for options that start
/// processes. REQUIRES: no other thread is running.
Status enter_sandbox(const CLI::App& verb);

}  // namespace quarkq::tool
