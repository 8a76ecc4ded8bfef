// SPDX-License-Identifier: MIT
#include "base/platform/interrupts.h"

#include <windows.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>

namespace quarkq::platform {
namespace {

Interrupts called;
std::atomic<uintptr_t> last_timer{0};

/// After CTRL_CLOSE_EVENT the system ends the process when this returns, and a few seconds later in any case.
BOOL WINAPI on_console_event(DWORD event) {
  called.stop();
  if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) Sleep(INFINITE);
  return TRUE;
}

void CALLBACK on_timer(void* number, BOOLEAN) {
  if (reinterpret_cast<uintptr_t>(number) == last_timer.load()) called.time_over();
}

LONG CALLBACK on_exception(EXCEPTION_POINTERS* fault) {
  const DWORD code = fault->ExceptionRecord->ExceptionCode;
  if (code == EXCEPTION_IN_PAGE_ERROR) called.file_lost();
  if (code == EXCEPTION_STACK_OVERFLOW || code == EXCEPTION_ACCESS_VIOLATION) called.last();
  return EXCEPTION_CONTINUE_SEARCH;
}

void on_abort(int) { called.last(); }

}  // namespace

void watch_interrupts(const Interrupts& calls) {
  called = calls;
  SetConsoleCtrlHandler(on_console_event, TRUE);
  AddVectoredExceptionHandler(/*first=*/0, on_exception);
  std::signal(SIGABRT, on_abort);
  SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);  // no windows that wait for an answer
}

void call_after(double seconds) {
  constexpr double kMost = 4e9;  // milliseconds
  HANDLE timer = nullptr;
  const uintptr_t number = last_timer.fetch_add(1) + 1;
  const auto wait = static_cast<DWORD>(std::clamp(seconds * 1000, 1.0, kMost));
  static_cast<void>(
      CreateTimerQueueTimer(&timer, nullptr, on_timer, reinterpret_cast<void*>(number), wait, 0, WT_EXECUTEONLYONCE));
}

}  // namespace quarkq::platform
