// SPDX-License-Identifier: MIT
#include "base/residency.h"

#include <sys/mman.h>

#include <chrono>
#include <map>
#include <set>

#include "base/system_memory.h"

namespace quarkq {
namespace {

// Reading from the page cache goes at 5 GB/s at most, so no more than 25 MB come between two looks.
constexpr std::chrono::milliseconds kInterval(5);

struct Mappings {
  std::mutex mutex;
  std::map<const std::byte*, size_t> bytes;  ///< by the first one
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
  for (const auto& [data, bytes] : mappings().bytes) {
    // A failure leaves the pages where they are, which is as good.
    static_cast<void>(::madvise(const_cast<std::byte*>(data), bytes, MADV_DONTNEED));
  }
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
