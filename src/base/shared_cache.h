// SPDX-License-Identifier: MIT
// Values that several users of the process share as long as one of them lives, for example the packed weights of
// programs that run different samples at the same time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace quarkq {

/// A map from keys to values that owns none of them. Thread-safe. Values are read-only.
template <typename T>
class SharedCache {
 public:
  using Value = std::shared_ptr<const T>;

  /// Returns the living value of `key`, or `make()`, which returns a Value and is called while the cache is locked. An
  /// empty key stands for a value that cannot be compared with others: it is made and not kept.
  template <typename Make>
  Value get(const std::string& key, const Make& make) {
    if (key.empty()) return make();
    const std::lock_guard lock(mutex_);
    if (Value known = values_[key].lock()) return known;
    purge();
    Value made = make();
    values_[key] = made;
    return made;
  }

 private:
  static constexpr size_t kLeast = 16;

  /// Removes the keys of dead values. Each look at all keys is paid by as many that were added since the last.
  void purge() {
    if (values_.size() < 2 * purged_size_) return;
    std::erase_if(values_, [](const auto& entry) { return entry.second.expired(); });
    purged_size_ = std::max(values_.size(), kLeast);
  }

  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const T>> values_;
  size_t purged_size_ = kLeast;
};

}  // namespace quarkq
