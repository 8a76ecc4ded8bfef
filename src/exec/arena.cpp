// SPDX-License-Identifier: MIT
// Where the values of a program lie: in one arena, and in a file between their uses where a limit asks for it.
#include <algorithm>

#include "exec/compiler.h"
#include "exec/pack_by_size.h"

namespace quarkq::exec {
namespace {

constexpr size_t kMostPacked = 2048;  // pieces, for which packing by size takes milliseconds

}  // namespace

/// Of the slots in the arena that own their buffer: what touches them and those that share it.
std::vector<BufferUse> Compiler::buffer_uses(const std::vector<int>& root, std::vector<size_t>& owners) const {
  const int end = static_cast<int>(program_.steps_.size());
  std::vector<std::vector<int>> steps(slots_.size());
  const auto use = [&](int slot, int step) {
    if (slot >= 0) steps[static_cast<size_t>(root[static_cast<size_t>(slot)])].push_back(step);
  };
  for (int s = 0; s < end; ++s) {
    const Step& step = program_.steps_[static_cast<size_t>(s)];
    for (const int slot : step.inputs) use(slot, s);
    for (const int slot : step.outputs) use(slot, s);
  }
  for (const Tap& tap : program_.taps_) {
    use(tap.slot, std::max(tap.after_step, 0));
    use(tap.slot, tap.after_step + 1);  // plan_slots() says why
  }
  for (const int slot : program_.fetch_slots_) use(slot, end);
  std::vector<BufferUse> uses;
  for (size_t s = 0; s < slots_.size(); ++s) {
    if (!slots_[s].in_arena() || root[s] != static_cast<int>(s)) continue;
    std::ranges::sort(steps[s]);
    steps[s].erase(std::unique(steps[s].begin(), steps[s].end()), steps[s].end());
    if (steps[s].empty()) steps[s].push_back(0);
    uses.push_back({slots_[s].bytes, std::move(steps[s])});
    owners.push_back(s);
  }
  return uses;
}

/// What the limit leaves for the arena's values.
ValueLimit Compiler::arena_limit() const {
  ValueLimit limit = request_.values;
  if (limit.bytes > 0)
    limit.bytes =
        std::max<int64_t>(1, limit.bytes - meter_.weights() - result_bytes_ - static_cast<int64_t>(scratch_bytes_));
  return limit;
}

Compiler::Arena Compiler::plan_arena(const std::vector<int>& root) const {
  Arena arena;
  arena.pieces = plan_pieces(buffer_uses(root, arena.owners), arena_limit());
  std::vector<Lifetime> lifetimes;
  for (const Piece& piece : arena.pieces) lifetimes.push_back(piece.lifetime);
  arena.plan = plan_memory(lifetimes);
  if (request_.values.bytes == 0 || lifetimes.size() > kMostPacked) return arena;
  MemoryPlan packed = pack_by_size(lifetimes);
  if (packed.total < arena.plan.total) arena.plan = std::move(packed);
  return arena;
}

/// Buffers in the arena, and what moves there between two pieces of one.
void Compiler::place(const Arena& arena, std::byte* memory, const std::vector<int>& root) {
  std::vector<std::vector<int>> sharing(slots_.size());
  for (size_t s = 0; s < slots_.size(); ++s)
    if (slots_[s].in_arena()) sharing[static_cast<size_t>(root[s])].push_back(static_cast<int>(s));
  for (size_t i = 0; i < arena.pieces.size(); ++i) {
    const Piece& piece = arena.pieces[i];
    const std::vector<int>& slots = sharing[arena.owners[piece.buffer]];
    std::byte* const there = memory + arena.plan.offsets[i];
    if (i == 0 || arena.pieces[i - 1].buffer != piece.buffer) {
      for (const int slot : slots) program_.buffers_[static_cast<size_t>(slot)] = there;
      continue;
    }
    Spill spill;
    spill.after = arena.pieces[i - 1].lifetime.last;
    spill.before = piece.lifetime.first;
    spill.bytes = piece.lifetime.bytes;
    spill.from = memory + arena.plan.offsets[i - 1];
    spill.to = there;
    spill.slots = slots;
    program_.spills_.add(std::move(spill));
  }
  program_.spills_.plan_file();
}

}  // namespace quarkq::exec
