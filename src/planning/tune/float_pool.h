// SPDX-License-Identifier: MIT
// Memory of tapes: buffers of floats that are not cleared and are used again. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace quarkq::planning::finetune {

/// Memory for `size` floats, which are undefined after the buffer was taken from a pool.
class FloatBuffer {
 public:
  FloatBuffer() = default;

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  float* begin() { return data(); }
  float* end() { return data() + size_; }
  const float* begin() const { return data(); }
  const float* end() const { return data() + size_; }
  std::span<float> span() { return {data(), size_}; }

 private:
  friend class FloatPool;
  std::unique_ptr<float[]> data_;
  size_t size_ = 0, capacity_ = 0;
};

class FloatPool {
 public:
  /// Returns a buffer of `size` floats: the smallest returned one that is large enough, otherwise a new one.
  FloatBuffer take(size_t size) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->capacity_ >= size && (best == free_.end() || it->capacity_ < best->capacity_)) best = it;
    FloatBuffer buffer;
    if (best != free_.end()) {
      buffer = std::move(*best);
      *best = std::move(free_.back());
      free_.pop_back();
    } else {
      buffer.data_ = std::make_unique_for_overwrite<float[]>(size);
      buffer.capacity_ = size;
      allocated_ += size;
    }
    buffer.size_ = size;
    return buffer;
  }
  /// Takes a buffer back and leaves an empty one. Empty buffers are ignored.
  void give(FloatBuffer& buffer) {
    if (buffer.data_ != nullptr) free_.push_back(std::move(buffer));
    buffer = FloatBuffer();
  }
  /// Returns the bytes of all buffers that were taken so far.
  size_t bytes() const { return allocated_ * sizeof(float); }

 private:
  std::vector<FloatBuffer> free_;
  size_t allocated_ = 0;
};

}  // namespace quarkq::planning::finetune
