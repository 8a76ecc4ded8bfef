// SPDX-License-Identifier: MIT
// Events that end a run early.
#pragma once

namespace quarkq::platform {

/// Functions called in signal handlers on POSIX systems and on other threads on Windows. They must not allocate.
struct Interrupts {
  void (*stop)() = nullptr;       ///< Ctrl-C, Ctrl-Break, a closed terminal, or a request to end.
  void (*time_over)() = nullptr;  ///< The time of call_after() is over.
  void (*file_lost)() = nullptr;  ///< A mapped file was cut or cannot be read. Must not return.
  void (*last)() = nullptr;       ///< The process ends through a fault, abort() or a closed pipe.
};

/// Calls these functions from now on. Signals that the parent process made this process ignore stay ignored (nohup).
void watch_interrupts(const Interrupts& calls);

/// Calls Interrupts::time_over after `seconds`. A later call replaces the time of an earlier one. Async-signal-safe.
void call_after(double seconds);

}  // namespace quarkq::platform
