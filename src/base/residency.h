// SPDX-License-Identifier: MIT
// Mapped files whose pages may be dropped from memory at any time, because the file contains them. The code that maps a
// file announces it here, and a ResidencyLimit bounds the resident part of all announced files while a run reads
// gigabytes.
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

/// Creates an anonymous file for reading and writing that disappears with the process, even if it is killed. `folder`
/// is its location; empty: the system's folder for temporary files.
Result<int> open_temporary_file(const std::string& folder = "");

/// An anonymous file for computed data that a run needs again later. It is written once, read through mappings, and
/// disappears with the process, even if it is killed.
class SpillFile : public std::enable_shared_from_this<SpillFile> {
 public:
  /// Creates the file in `folder`, which needs space for all stored data.
  static Result<std::shared_ptr<SpillFile>> create(const std::string& folder);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  /// Returns a read-only, page-aligned mapping of a copy of the `bytes` bytes at `data`. The file releases the space
  /// with the last pointer. Fails with kIo if the disk is full. REQUIRES: bytes > 0.
  Result<std::shared_ptr<const std::byte>> put(const void* data, size_t bytes);

 private:
  SpillFile(int fd, std::string folder) : fd_(fd), folder_(std::move(folder)) {}
  int fd_;
  std::string folder_;
  std::mutex mutex_;
  uint64_t end_ = 0;
};

/// Allows the pages of `[data, data + bytes)`, a file mapping that is never written through, to be dropped from now on.
void announce_mapping(const std::byte* data, size_t bytes);
/// REQUIRES: announced, and not unmapped yet.
void withdraw_mapping(const std::byte* data);

/// Drops all resident pages of the announced mappings. Later reads load them from the file again.
void drop_mapped_pages();

/// Calls drop_mapped_pages() if more is resident than a ResidencyLimit allows. Call it after steps that read megabytes.
void trim_mapped_pages();

/// While it exists, a thread drops the pages of the announced mappings whenever more than `bytes` of files are
/// resident. A run on large weights reads each weight only a few times, so pages that were read long ago are not worth
/// their memory. Several limits work independently.
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
