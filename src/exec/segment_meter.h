// SPDX-License-Identifier: MIT
// What the program that is being compiled takes, estimated value by value: decides where a segment ends (ADR 0016).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ir/ids.h"

namespace quarkq::exec {

class SegmentMeter {
 public:
  explicit SegmentMeter(size_t values) : bytes_(values), readers_(values) {}

  /// One more node will read the value, or it is a result.
  void expect_reader(ir::ValueId value) { ++readers_[at(value)]; }

  void add_weights(int64_t bytes) { weights_ += bytes; }
  /// The value is there from now on until its last reader has read it.
  void made(ir::ValueId value, int64_t bytes) {
    if (bytes_[at(value)] > 0) return;
    bytes_[at(value)] = bytes;
    live_ += bytes;
    peak_ = std::max(peak_, live_);
  }
  void read(ir::ValueId value) {
    if (readers_[at(value)] == 0 || --readers_[at(value)] > 0) return;
    live_ -= bytes_[at(value)];
    bytes_[at(value)] = 0;
  }

  int64_t total() const { return weights_ + peak_; }
  /// What ends with the segment when the next node reads `next`: weights, and values that wait for later nodes.
  int64_t spared(const std::vector<ir::ValueId>& next) const {
    int64_t read = 0;
    for (size_t i = 0; i < next.size(); ++i) {
      if (std::find(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(i), next[i]) ==
          next.begin() + static_cast<std::ptrdiff_t>(i))
        read += bytes_[at(next[i])];
    }
    return weights_ + live_ - read;
  }

 private:
  static size_t at(ir::ValueId value) { return static_cast<size_t>(value.index); }
  std::vector<int64_t> bytes_;  ///< by value, while it is there
  std::vector<int32_t> readers_;
  int64_t weights_ = 0, live_ = 0, peak_ = 0;
};

}  // namespace quarkq::exec
