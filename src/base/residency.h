// SPDX-License-Identifier: MIT
// Mapped files whose pages may leave memory at any time, because the file has them: who maps one announces it here, and
// a ResidencyLimit keeps what is resident of all of them small while a run reads gigabytes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/error.h"

namespace quarkq {

// A file for values that a run needs again later.

/// Without a name, for reading and writing; removed with the process however that ends. `folder`: where it lies; empty:
/// the system's folder for temporary files.
Result<int> open_temporary_file(const std::string& folder = "");

/// A file without a name for data that a run computes and needs again later: it is written once, read through mappings,
/// and gone with the process however that ends.
class SpillFile : public std::enable_shared_from_this<SpillFile> {
 public:
  /// In `folder`, which needs room for what is put here.
  static Result<std::shared_ptr<SpillFile>> create(const std::string& folder);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  /// A read-only mapping of a copy of `bytes` bytes at `data`, page-aligned; the file gives the space back when the
  /// last pointer goes. Fails (kIo) where the disk is full. REQUIRES: bytes > 0.
  Result<std::shared_ptr<const std::byte>> put(const void* data, size_t bytes);

 private:
  SpillFile(int fd, std::string folder) : fd_(fd), folder_(std::move(folder)) {}
  int fd_;
  std::string folder_;
  std::mutex mutex_;
  uint64_t end_ = 0;
};

/// From now on the pages of `[data, data + bytes)`, a mapping of a file that nothing writes through, may be dropped.
void announce_mapping(const std::byte* data, size_t bytes);
/// REQUIRES: announced, and not unmapped yet.
void withdraw_mapping(const std::byte* data);

/// Drops all resident pages of the announced mappings. What still reads them gets them from the file again.
void drop_mapped_pages();

/// drop_mapped_pages() when more is resident than a ResidencyLimit allows: after steps that read megabytes.
void trim_mapped_pages();

/// While it lives, a thread drops the pages of the announced mappings whenever more than `bytes` of files are resident.
/// A run on large weights reads each once or a few times, so what was read long ago is not worth its memory. Of several
/// at a time, each looks after its own limit.
class ResidencyLimit {
 public:
  explicit ResidencyLimit(size_t bytes);
  ~ResidencyLimit();
  ResidencyLimit(const ResidencyLimit&) = delete;
  ResidencyLimit& operator=(const ResidencyLimit&) = delete;

 private:
  void watch();
  size_t bytes_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace quarkq
