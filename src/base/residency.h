// SPDX-License-Identifier: MIT
// Mapped files whose pages may leave memory at any time, because the file has them: who maps one announces it here, and
// a ResidencyLimit keeps what is resident of all of them small while a run reads gigabytes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

namespace quarkq {

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
