// SPDX-License-Identifier: MIT
// Places buffers with known lifetimes in one arena.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/error.h"

namespace quarkq::exec {

/// A buffer needed from step `first` to step `last`, both inclusive.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  ///< one per lifetime, multiples of 64
  size_t total = 0;             ///< bytes of the arena
};

/// Best-fit placement in order of first use. Buffers that live at the same step never overlap. O(n log n).
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes);

// A second way to place buffers in one arena, for where memory matters more than the time to compile.

/// The largest first, each at the lowest offset where nothing lies that lives at the same time. Leaves hardly a hole
/// where sizes are alike, which plan_memory() does not promise. O(n^2 log n).
MemoryPlan pack_by_size(const std::vector<Lifetime>& lifetimes);

// Which buffers leave memory between two of their uses, so that those which are there at once fit (ADR 0016).

/// A bound on the values of one program that are in memory at once.
struct ValueLimit {
  int64_t bytes = 0;                         ///< 0: none
  int64_t least_spilled = int64_t{1} << 20;  ///< smaller values stay

  /// Values from here on may leave memory.
  int64_t spilled_from() const { return bytes > 0 ? least_spilled : std::numeric_limits<int64_t>::max(); }
};

struct BufferUse {
  int64_t bytes = 0;
  std::vector<int> steps;  ///< that write or read it, ascending; at least one
};

/// A time that a buffer is in memory.
struct Piece {
  size_t buffer = 0;
  Lifetime lifetime;
};

/// Each buffer's pieces in order, buffers in order. Without a limit each is one piece. Where more than the limit is in
/// memory at a step, the buffers leave that are needed last; where all are needed at that step, it takes what it takes.
std::vector<Piece> plan_pieces(const std::vector<BufferUse>& buffers, const ValueLimit& limit);

// The values of a program that lie in a temporary file between two of their uses.

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
