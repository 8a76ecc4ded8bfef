// SPDX-License-Identifier: MIT
#include "base/platform/interrupts.h"

#include <sys/time.h>

#include <algorithm>
#include <cmath>
#include <csignal>

namespace quarkq::platform {
namespace {

Interrupts called;

void on_stop(int) { called.stop(); }
void on_alarm(int) { called.time_over(); }
void on_bus_error(int) { called.file_lost(); }

/// The end that everybody expects, of a program in a pipe and after abort(), but without temporaries.
void on_last_signal(int signal) {
  called.last();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void watch_interrupts(const Interrupts& calls) {
  called = calls;
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, on_stop);
  if (std::signal(SIGHUP, on_stop) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  if (std::signal(SIGPIPE, on_last_signal) == SIG_IGN) std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // writing beyond the limit then fails with a reason
  std::signal(SIGBUS, on_bus_error);
  std::signal(SIGALRM, on_alarm);
  // The C and OpenMP libraries end the process themselves when they get no memory: by abort(), and by exit() on any
  // thread, which destroys what the others still use. A handler that is there belongs to a sanitizer.
  std::signal(SIGABRT, on_last_signal);
  if (const auto given = std::signal(SIGSEGV, on_last_signal); given != SIG_DFL) std::signal(SIGSEGV, given);
}

void call_after(double seconds) {
  const double whole = std::floor(seconds);
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(whole);
  timer.it_value.tv_usec = std::max(static_cast<suseconds_t>((seconds - whole) * 1e6), suseconds_t{1});
  static_cast<void>(::setitimer(ITIMER_REAL, &timer, nullptr));
}

}  // namespace quarkq::platform
