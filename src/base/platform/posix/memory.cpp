// SPDX-License-Identifier: MIT
#include "base/platform/memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace quarkq::platform {

size_t mapping_unit() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

const std::byte* map_file(int fd, uint64_t offset, size_t bytes, View view) {
  const int sharing = view == View::kOwnView ? MAP_PRIVATE : MAP_SHARED;
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ, sharing, fd, static_cast<off_t>(offset));
  return mapped == MAP_FAILED ? nullptr : static_cast<const std::byte*>(mapped);
}

void unmap(const std::byte* data, size_t bytes) { ::munmap(const_cast<std::byte*>(data), bytes); }

void drop_pages(const std::byte* data, size_t bytes) {
  // A failure leaves the pages where they are, which is as good.
  static_cast<void>(::madvise(const_cast<std::byte*>(data), bytes, MADV_DONTNEED));
}

void release_space(int fd, uint64_t offset, size_t bytes) {
  static_cast<void>(::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                                static_cast<off_t>(bytes)));
}

void return_free_memory() { ::malloc_trim(0); }

uint64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes << 10;
  }
  return 0;
}

}  // namespace quarkq::platform
