// SPDX-License-Identifier: MIT
// For signal handlers: is there something that must not be called unwritten?
#pragma once

namespace quarkq {

/// Whether an AtomicFile of this process has its name, or is about to get it. Async-signal-safe.
bool has_finished_files();

}  // namespace quarkq
