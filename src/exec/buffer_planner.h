// SPDX-License-Identifier: MIT
// BufferPlanner: where the buffers of a program are: in the memory of a result, in that of an earlier buffer that is no
// longer read, or in the arena, and in a temporary file between two uses if a limit requires it.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/memory_plan.h"
#include "exec/program.h"
#include "exec/value_table.h"

namespace quarkq::exec {

/// A step that may write its output where its input is.
struct InPlace {
  int step, output_slot, input_slot;
};

/// What a program reads and writes. The results are in the order of `fetch_slots`; -1: it is known already.
struct BufferRequest {
  const std::vector<Slot>& slots;
  const std::vector<Step>& steps;
  const std::vector<Tap>& taps;
  const std::vector<int>& fetch_slots;
  std::vector<int64_t> result_bytes;
  const std::vector<InPlace>& in_place;
  ValueLimit limit;  ///< of the buffers in the arena
};

struct BufferPlan {
  std::vector<std::vector<int>> result_slots;  ///< by result: the slots that are stored in its memory
  std::vector<Piece> pieces;                   ///< of the buffers in the arena
  std::vector<std::vector<int>> piece_slots;   ///< by Piece::buffer: the slots that share the buffer
  MemoryPlan memory;                           ///< by piece
};

/// Buffers of constants and feeds are not in the plan.
BufferPlan plan_buffers(const BufferRequest& request);

}  // namespace quarkq::exec
