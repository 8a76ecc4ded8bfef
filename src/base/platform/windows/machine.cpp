// SPDX-License-Identifier: MIT
// A container or a service has the limits of its job object.
#include "base/machine.h"

#include <windows.h>

#include <psapi.h>

#include <algorithm>

namespace quarkq {

SystemMemory system_memory(const char*) {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  if (GlobalMemoryStatusEx(&status) == 0) return {};
  const auto available = static_cast<int64_t>(status.ullAvailPhys);
  const int64_t commit = static_cast<int64_t>(status.ullAvailPageFile) - available;
  return {static_cast<int64_t>(status.ullTotalPhys), available, std::max<int64_t>(commit, 0)};
}

/// The system counts private pages by commitment, so `of_files` is a lower bound.
ResidentMemory resident_memory() {
  PROCESS_MEMORY_COUNTERS_EX counters{};
  counters.cb = sizeof counters;
  auto* const plain = reinterpret_cast<PROCESS_MEMORY_COUNTERS*>(&counters);
  if (GetProcessMemoryInfo(GetCurrentProcess(), plain, sizeof counters) == 0) return {};
  const size_t own = std::min(counters.PrivateUsage, counters.WorkingSetSize);
  return {counters.WorkingSetSize, counters.WorkingSetSize - own};
}

std::optional<double> cpu_quota(const std::string&) {
  JOBOBJECT_CPU_RATE_CONTROL_INFORMATION rate{};
  constexpr DWORD kHard = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
  if (QueryInformationJobObject(nullptr, JobObjectCpuRateControlInformation, &rate, sizeof rate, nullptr) == 0 ||
      (rate.ControlFlags & kHard) != kHard)
    return std::nullopt;
  constexpr double kWhole = 10'000;  // All processors.
  return rate.CpuRate / kWhole * GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

std::optional<int64_t> memory_quota(const std::string&) {
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  if (QueryInformationJobObject(nullptr, JobObjectExtendedLimitInformation, &limits, sizeof limits, nullptr) == 0)
    return std::nullopt;
  std::optional<int64_t> least;
  const auto take = [&](DWORD flag, size_t bytes) {
    if ((limits.BasicLimitInformation.LimitFlags & flag) == 0) return;
    least = std::min(least.value_or(INT64_MAX), static_cast<int64_t>(bytes));
  };
  take(JOB_OBJECT_LIMIT_PROCESS_MEMORY, limits.ProcessMemoryLimit);
  take(JOB_OBJECT_LIMIT_JOB_MEMORY, limits.JobMemoryLimit);
  return least;
}

int64_t granted_memory() {
  static const int64_t bytes = [] {
    const int64_t machine = system_memory().total;
    return std::min(machine, memory_quota().value_or(machine));
  }();
  return bytes;
}

}  // namespace quarkq
