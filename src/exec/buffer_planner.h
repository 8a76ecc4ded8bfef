// SPDX-License-Identifier: MIT
// BufferPlanner: places the buffers of a program. A buffer is placed in the memory of a result, in the memory of an
// earlier buffer that is no longer read, or in the arena. If a limit requires it, a buffer is stored in a temporary
// file between two uses.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/memory_plan.h"
#include "exec/program.h"
#include "exec/value_table.h"

namespace quarkq::exec {

/// A step that may overwrite its input with its output.
struct InPlace {
  int step, output_slot, input_slot;
};

/// The buffers of a program and the steps that use them. `fetch_slots` contains the slots of the results in order; -1
/// if a result is a constant.
struct BufferRequest {
  const std::vector<Slot>& slots;
  const std::vector<Step>& steps;
  const std::vector<Tap>& taps;
  const std::vector<int>& fetch_slots;
  std::vector<int64_t> result_bytes;
  const std::vector<InPlace>& in_place;
  ValueLimit limit;  ///< Limit on the buffers in the arena.
};

struct BufferPlan {
  std::vector<std::vector<int>> result_slots;  ///< Slots stored in the memory of each result.
  std::vector<Piece> pieces;                   ///< Pieces of the buffers in the arena.
  std::vector<std::vector<int>> piece_slots;   ///< Slots that share a buffer, indexed by Piece::buffer.
  MemoryPlan memory;                           ///< Placement of each piece.
};

/// Plans all buffers except the buffers of constants and feeds.
BufferPlan plan_buffers(const BufferRequest& request);

}  // namespace quarkq::exec
