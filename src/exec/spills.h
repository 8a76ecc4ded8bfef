// SPDX-License-Identifier: MIT
// The values of a program that lie in a temporary file between two of their uses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"

namespace quarkq::exec {

/// A buffer that leaves memory after one step and is there again, elsewhere, before another one.
struct Spill {
  int after = 0, before = 0;
  int64_t bytes = 0;
  std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::vector<int> slots;  ///< that lie in it
  uint64_t offset = 0;     ///< in the file; plan_file() sets it
};

class Spills {
 public:
  Spills() = default;
  ~Spills();
  Spills(Spills&& other) noexcept { *this = std::move(other); }
  Spills& operator=(Spills&& other) noexcept;

  /// In the order of time for each buffer.
  void add(Spill spill) { all_.push_back(std::move(spill)); }
  /// After the last one was added.
  void plan_file();
  size_t count() const { return all_.size(); }

  /// Begins a run: `buffers`, by slot, are where they are first.
  void begin(std::span<std::byte*> buffers);
  /// Writes what leaves after this step.
  Status write_after(int step);
  /// Reads what the step needs, and points `buffers` there.
  Status read_before(int step, std::span<std::byte*> buffers);

 private:
  std::vector<Spill> all_;
  std::vector<size_t> by_after_, by_before_;
  size_t written_ = 0, read_ = 0;
  int file_ = -1;
};

}  // namespace quarkq::exec
