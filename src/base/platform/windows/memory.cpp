// SPDX-License-Identifier: MIT
#include "base/platform/memory.h"

#include <io.h>
#include <malloc.h>
#include <windows.h>

#include <psapi.h>
#include <winioctl.h>

#include "base/platform/windows/wide.h"

namespace quarkq::platform {

size_t mapping_unit() {
  SYSTEM_INFO info{};
  GetSystemInfo(&info);
  return info.dwAllocationGranularity;
}

const std::byte* map_file(int fd, uint64_t offset, size_t bytes, View) {
  const auto file = reinterpret_cast<HANDLE>(_get_osfhandle(fd));
  const HANDLE mapping = CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
  const void* data = nullptr;
  if (mapping != nullptr) {
    data = MapViewOfFile(mapping, FILE_MAP_READ, static_cast<DWORD>(offset >> 32), static_cast<DWORD>(offset), bytes);
    const DWORD reason = GetLastError();
    CloseHandle(mapping);
    SetLastError(reason);
  }
  if (data == nullptr) fail_with_errno();
  return static_cast<const std::byte*>(data);
}

void unmap(const std::byte* data, size_t) { UnmapViewOfFile(data); }

/// Unlocking pages that are not locked removes them from the working set.
void drop_pages(const std::byte* data, size_t bytes) { VirtualUnlock(const_cast<std::byte*>(data), bytes); }

void release_space(int fd, uint64_t offset, size_t bytes) {
  FILE_ZERO_DATA_INFORMATION range{};
  range.FileOffset.QuadPart = static_cast<LONGLONG>(offset);
  range.BeyondFinalZero.QuadPart = static_cast<LONGLONG>(offset + bytes);
  DWORD returned = 0;
  DeviceIoControl(reinterpret_cast<HANDLE>(_get_osfhandle(fd)), FSCTL_SET_ZERO_DATA, &range, sizeof range, nullptr, 0,
                  &returned, nullptr);
}

void return_free_memory() { _heapmin(); }

uint64_t peak_memory() {
  PROCESS_MEMORY_COUNTERS counters{};
  counters.cb = sizeof counters;
  return GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters) != 0 ? counters.PeakWorkingSetSize : 0;
}

}  // namespace quarkq::platform
