// SPDX-License-Identifier: MIT
// A file without a name for data that a run computes and needs again later: it is written once, read through mappings,
// and gone with the process however that ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"

namespace quarkq {

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

}  // namespace quarkq
