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
  /// Values of `spilled_from` bytes and more leave memory while they wait: they count where they are used.
  SegmentMeter(size_t values, int64_t spilled_from) : bytes_(values), readers_(values), spilled_from_(spilled_from) {}

  /// One more node will read the value, or it is a result.
  void expect_reader(ir::ValueId value) { ++readers_[at(value)]; }

  void add_weights(int64_t bytes) { weights_ += bytes; }
  /// The value is there from now on until its last reader has read it.
  void made(ir::ValueId value, int64_t bytes) {
    if (bytes_[at(value)] > 0) return;
    bytes_[at(value)] = bytes;
    live_ += waiting(value);
  }
  /// A node that reads and makes these runs.
  void use(const std::vector<ir::ValueId>& values) {
    peak_ = std::max(peak_, live_ + sum(values, [&](ir::ValueId value) { return bytes_[at(value)] - waiting(value); }));
  }
  void read(ir::ValueId value) {
    if (readers_[at(value)] == 0 || --readers_[at(value)] > 0) return;
    live_ -= waiting(value);
    bytes_[at(value)] = 0;
  }

  int64_t weights() const { return weights_; }
  int64_t total() const { return weights_ + peak_; }
  /// What ends with the segment when the next node reads `next`: weights, and values that wait for later nodes.
  int64_t spared(const std::vector<ir::ValueId>& next) const {
    return weights_ + live_ - sum(next, [&](ir::ValueId value) { return waiting(value); });
  }

 private:
  static size_t at(ir::ValueId value) { return static_cast<size_t>(value.index); }
  /// What the value takes while no node uses it.
  int64_t waiting(ir::ValueId value) const { return bytes_[at(value)] < spilled_from_ ? bytes_[at(value)] : 0; }
  /// Of each value once.
  template <typename Bytes>
  static int64_t sum(const std::vector<ir::ValueId>& values, Bytes bytes) {
    int64_t all = 0;
    for (auto value = values.begin(); value != values.end(); ++value) {
      if (std::find(values.begin(), value, *value) == value) all += bytes(*value);
    }
    return all;
  }

  std::vector<int64_t> bytes_;  ///< by value, while it is there
  std::vector<int32_t> readers_;
  int64_t spilled_from_ = 0;
  int64_t weights_ = 0, live_ = 0, peak_ = 0;
};

}  // namespace quarkq::exec
