// SPDX-License-Identifier: MIT
// Threads that look at the memory in use and end the process, with the exit code of kResource and after removing
// unfinished files, before the system ends it without a word.
#pragma once

#include <cstdint>
#include <string>

namespace quarkq::tool {

/// In the form that --max-memory takes, in MiB, rounded up.
std::string size_text(int64_t bytes);

/// Returns when the process has taken more than `bytes`, and how much.
int64_t wait_beyond(int64_t bytes);

/// From now on the process ends as soon as it takes more than `bytes`. 0 does nothing.
void stop_beyond(int64_t bytes);

/// From now on the process ends when the machine, or the container, has almost no memory left and this process has
/// taken much of it.
void stop_when_memory_runs_out();

}  // namespace quarkq::tool
