// SPDX-License-Identifier: MIT
#include "base/platform/process.h"

#include <windows.h>

#include <ntsecapi.h>
#include <stdlib.h>

#include <array>

#include "base/platform/windows/wide.h"

namespace quarkq::platform {

int64_t process_number() { return GetCurrentProcessId(); }
int thread_number() { return static_cast<int>(GetCurrentThreadId()); }

std::string host_name() {
  std::array<wchar_t, 256> name{};
  auto length = static_cast<DWORD>(name.size());
  return GetComputerNameExW(ComputerNameDnsHostname, name.data(), &length) != 0 ? narrow({name.data(), length}) : "";
}

void fill_random(void* data, size_t bytes) { static_cast<void>(RtlGenRandom(data, static_cast<ULONG>(bytes))); }

std::string environment(const char* name) {
  const std::wstring key = wide(name);
  std::wstring value(GetEnvironmentVariableW(key.c_str(), nullptr, 0), L'\0');
  value.resize(GetEnvironmentVariableW(key.c_str(), value.data(), static_cast<DWORD>(value.size())));
  return narrow(value);
}

/// For the system and for the C library.
void set_environment(const char* name, const char* value) { _putenv_s(name, value); }

/// Programs cannot be replaced here, and a second process would have another number.
void restart(char**) {}
void set_process_name(const std::string&) {}

/// Not by ExitProcess(), which waits for locks of threads that it has ended.
void end_process(int exit_code) {
  TerminateProcess(GetCurrentProcess(), static_cast<UINT>(exit_code));
  for (;;) Sleep(INFINITE);
}

bool can_copy_process() { return false; }
std::optional<CopyOutcome> run_in_copy(const std::function<void(std::span<std::byte>)>&, std::span<std::byte>) {
  return std::nullopt;
}

}  // namespace quarkq::platform
