// SPDX-License-Identifier: MIT
// Which buffers leave memory between two of their uses, so that those which are there at once fit (ADR 0016).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "exec/memory_plan.h"

namespace quarkq::exec {

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

}  // namespace quarkq::exec
