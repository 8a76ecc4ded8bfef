// SPDX-License-Identifier: MIT
// Bytes as a file, for readers that open files.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/strings.h"

namespace quarkq::fuzz {

/// A file in memory with a path.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) : fd_(::memfd_create("fuzz", 0)) {
    size_t done = 0;
    while (done < size) {
      const ssize_t part = ::write(fd_, data + done, size - done);
      if (part <= 0) break;
      done += static_cast<size_t>(part);
    }
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return cat("/proc/self/fd/", fd_); }

 private:
  int fd_;
};

}  // namespace quarkq::fuzz
