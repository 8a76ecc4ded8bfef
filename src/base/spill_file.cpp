// SPDX-License-Identifier: MIT
#include "base/spill_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file_system.h"
#include "base/residency.h"

namespace quarkq {

Result<std::shared_ptr<SpillFile>> SpillFile::create(const std::string& folder) {
  const int fd = open_nameless_file(folder);
  if (fd < 0) return io_error(folder, ": cannot make a temporary file here, ", std::strerror(errno));
  return std::shared_ptr<SpillFile>(new SpillFile(fd, folder));
}

SpillFile::~SpillFile() { ::close(fd_); }

Result<std::shared_ptr<const std::byte>> SpillFile::put(const void* data, size_t bytes) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  uint64_t offset = 0;
  {
    const std::lock_guard lock(mutex_);
    offset = end_;
    end_ += (bytes + page - 1) / page * page;
  }
  if (!write_all_at(fd_, data, bytes, offset))
    return io_error(folder_, ": writing a temporary file failed, ", std::strerror(errno));
  trim_mapped_pages();
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd_, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return io_error(folder_, ": cannot map a temporary file, ", std::strerror(errno));
  const auto* const begin = static_cast<const std::byte*>(mapped);
  announce_mapping(begin, bytes);
  return std::shared_ptr<const std::byte>(begin, [self = shared_from_this(), bytes, offset](const std::byte* gone) {
    withdraw_mapping(gone);
    ::munmap(const_cast<std::byte*>(gone), bytes);
    static_cast<void>(::fallocate(self->fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                                  static_cast<off_t>(bytes)));
  });
}

}  // namespace quarkq
