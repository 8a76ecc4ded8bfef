// SPDX-License-Identifier: MIT
#include "base/residency.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <set>

#include "base/file_system.h"
#include "base/machine.h"
#include "base/paths.h"
#include "base/platform/files.h"
#include "base/platform/memory.h"

namespace quarkq {

Result<int> open_temporary_file(const std::string& given) {
  std::string folder = given.empty() ? paths::temporary_folder() : given;
  if (folder.empty()) folder = ".";
  const int file = open_nameless_file(folder);
  if (file < 0) return io_error(folder, ": cannot make a temporary file here, ", std::strerror(errno));
  return file;
}

Result<std::shared_ptr<SpillFile>> SpillFile::create(const std::string& folder) {
  const int fd = open_nameless_file(folder);
  if (fd < 0) return io_error(folder, ": cannot make a temporary file here, ", std::strerror(errno));
  return std::shared_ptr<SpillFile>(new SpillFile(fd, folder));
}

SpillFile::~SpillFile() { platform::close_file(fd_); }

Result<std::shared_ptr<const std::byte>> SpillFile::put(const void* data, size_t bytes) {
  const uint64_t page = platform::mapping_unit();
  uint64_t offset = 0;
  {
    const std::lock_guard lock(mutex_);
    offset = end_;
    end_ += (bytes + page - 1) / page * page;
  }
  if (!write_all_at(fd_, data, bytes, offset))
    return io_error(folder_, ": writing a temporary file failed, ", std::strerror(errno));
  trim_mapped_pages();
  const std::byte* const begin = platform::map_file(fd_, offset, bytes, platform::View::kFileLater);
  if (begin == nullptr) return io_error(folder_, ": cannot map a temporary file, ", std::strerror(errno));
  announce_mapping(begin, bytes);
  return std::shared_ptr<const std::byte>(begin, [self = shared_from_this(), bytes, offset](const std::byte* gone) {
    withdraw_mapping(gone);
    platform::unmap(gone, bytes);
    platform::release_space(self->fd_, offset, bytes);
  });
}

namespace {

// The page cache is read at 5 GB/s at most, so at most 25 MB are added between two checks.
constexpr std::chrono::milliseconds kInterval(5);

struct Mappings {
  std::mutex mutex;
  std::map<const std::byte*, size_t> bytes;  ///< Keyed by the first byte.
  std::multiset<size_t> limits;              ///< in force
};

Mappings& mappings() {
  static auto* const all = new Mappings;  // outlives the tensors of other static objects
  return *all;
}

/// 0: there is none.
size_t least_limit() {
  const std::lock_guard lock(mappings().mutex);
  return mappings().limits.empty() ? 0 : *mappings().limits.begin();
}

}  // namespace

void announce_mapping(const std::byte* data, size_t bytes) {
  const std::lock_guard lock(mappings().mutex);
  mappings().bytes[data] = bytes;
}

void withdraw_mapping(const std::byte* data) {
  const std::lock_guard lock(mappings().mutex);
  mappings().bytes.erase(data);
}

void drop_mapped_pages() {
  const std::lock_guard lock(mappings().mutex);
  for (const auto& [data, bytes] : mappings().bytes) platform::drop_pages(data, bytes);
}

void trim_mapped_pages() {
  const size_t limit = least_limit();
  if (limit > 0 && resident_memory().of_files > limit) drop_mapped_pages();
}

ResidencyLimit::ResidencyLimit(size_t bytes) : bytes_(bytes), thread_([this] { watch(); }) {
  const std::lock_guard lock(mappings().mutex);
  mappings().limits.insert(bytes);
}

ResidencyLimit::~ResidencyLimit() {
  {
    const std::lock_guard lock(mappings().mutex);
    mappings().limits.erase(mappings().limits.find(bytes_));
  }
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ends_.notify_all();
  thread_.join();
}

void ResidencyLimit::watch() {
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, kInterval, [this] { return has_ended_; })) {
    if (resident_memory().of_files > bytes_) drop_mapped_pages();
  }
}

}  // namespace quarkq
