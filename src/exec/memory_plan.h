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

// A second placement of buffers in one arena, for cases in which memory matters more than compile time.

/// Places the largest buffers first, each at the lowest free offset for its lifetime. Leaves few gaps if sizes are
/// similar, which plan_memory() does not guarantee. O(n^2 log n).
MemoryPlan pack_by_size(const std::vector<Lifetime>& lifetimes);

// Selection of buffers that leave memory between two of their uses, so that the remaining ones fit (ADR 0016).

/// A bound on the values of one program that are in memory at once.
struct ValueLimit {
  int64_t bytes = 0;                         ///< 0: no bound.
  int64_t least_spilled = int64_t{1} << 20;  ///< Smaller values stay in memory.

  /// Returns the size from which values may leave memory.
  int64_t spilled_from() const { return bytes > 0 ? least_spilled : std::numeric_limits<int64_t>::max(); }
};

struct BufferUse {
  int64_t bytes = 0;
  std::vector<int> steps;  ///< Steps that write or read it, ascending; at least one.
};

/// A period in which a buffer is in memory.
struct Piece {
  size_t buffer = 0;
  Lifetime lifetime;
};

/// Returns the pieces of each buffer in order, ordered by buffer. Without a limit each buffer is one piece. If more
/// than the limit is in memory at a step, the buffers that are needed last leave. If all are needed at that step, the
/// limit is exceeded.
std::vector<Piece> plan_pieces(const std::vector<BufferUse>& buffers, const ValueLimit& limit);

// The values of a program that are stored in a temporary file between two of their uses.

/// A buffer that leaves memory after one step and returns, at another address, before another step.
struct Spill {
  int after = 0, before = 0;
  int64_t bytes = 0;
  std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::vector<int> slots;  ///< Slots stored in the buffer.
  uint64_t offset = 0;     ///< Offset in the file; set by plan_file().
};

class Spills {
 public:
  Spills() = default;
  ~Spills();
  Spills(Spills&& other) noexcept { *this = std::move(other); }
  Spills& operator=(Spills&& other) noexcept;

  /// Call it in order of time for each buffer.
  void add(Spill spill) { all_.push_back(std::move(spill)); }
  /// Call it after the last buffer was added.
  void plan_file();
  size_t count() const { return all_.size(); }

  /// Begins a run. `buffers` are the initial addresses, by slot.
  void begin(std::span<std::byte*> buffers);
  /// Writes the buffers that leave after this step.
  Status write_after(int step);
  /// Reads the buffers that the step needs, and sets `buffers` to them.
  Status read_before(int step, std::span<std::byte*> buffers);

 private:
  std::vector<Spill> all_;
  std::vector<size_t> by_after_, by_before_;
  size_t written_ = 0, read_ = 0;
  int file_ = -1;
};

}  // namespace quarkq::exec
