// SPDX-License-Identifier: MIT
// The end of a compilation: fetches, lifetimes, in-place sharing, the buffer table.
#include <algorithm>
#include <cstdlib>
#include <new>

#include "exec/compiler.h"
#include "exec/memory_plan.h"
#include "exec/environment.h"

namespace quarkq::exec {

void Compiler::plan_slots(std::vector<int>& root, std::vector<int>& last) {
  const int end = static_cast<int>(program_.steps_.size());
  for (size_t s = 0; s < slots_.size(); ++s) root[s] = static_cast<int>(s);
  for (int s = 0; s < end; ++s) {
    for (const int slot : program_.steps_[static_cast<size_t>(s)].inputs) {
      if (slot >= 0) last[static_cast<size_t>(slot)] = s;
    }
    for (const int slot : program_.steps_[static_cast<size_t>(s)].outputs) {
      if (slot >= 0) last[static_cast<size_t>(slot)] = std::max(last[static_cast<size_t>(slot)], s);
    }
  }
  for (const Tap& tap : program_.taps_) {
    // One step longer: a value whose tap is observed late (a reshaped one) must not be overwritten in place by that
    // very step.
    last[static_cast<size_t>(tap.slot)] = std::max(last[static_cast<size_t>(tap.slot)], tap.after_step + 1);
  }
  for (const int slot : program_.fetch_slots_) {
    if (slot >= 0) last[static_cast<size_t>(slot)] = end;
  }
  for (const InPlace& pair : in_place_) {
    if (pair.input_slot < 0) continue;
    // A node of more than two inputs computes step by step: Sum(x, y, x) reads x again after the first step.
    const std::vector<int>& read = program_.steps_[static_cast<size_t>(pair.step)].inputs;
    if (std::count(read.begin(), read.end(), pair.input_slot) > 1) continue;
    const auto from = static_cast<size_t>(root[static_cast<size_t>(pair.input_slot)]);
    const auto to = static_cast<size_t>(pair.output_slot);
    if (!slots_[from].in_arena() || slots_[from].bytes != slots_[to].bytes || last[from] != pair.step) continue;
    root[to] = static_cast<int>(from);
    last[from] = last[to];
  }
}

/// What the program hands out: the fetches it reaches and the values that nodes after it read.
Status Compiler::choose_fetches() {
  for (const ir::ValueId value : request_.fetches) {
    if (held(value).when == When::kUnset && !compiled_.is_cut) {
      return corrupt_model("output ", graph_.value(value).name, " is never computed");
    }
    if (held(value).when == When::kNow) compiled_.fetched.push_back(value);
  }
  std::vector<bool> seen(graph_.value_count());  // feeds in ONNX order are at hand outside of the program, too
  for (const Feed& feed : request_.feeds) seen[static_cast<size_t>(feed.value.index)] = feed.layout == Layout::kPlain;
  std::vector<ir::ValueId> wanted = compiled_.reads;
  for (const Deferred& deferred : compiled_.deferred) append_reads(*deferred.node, wanted);
  for (const ir::ValueId value : wanted) {
    const Held& source = held(value);
    if (source.when != When::kNow || seen[static_cast<size_t>(value.index)]) continue;
    seen[static_cast<size_t>(value.index)] = true;
    if (source.constant != nullptr) {
      compiled_.constants.push_back({value, *source.constant});
    } else {
      compiled_.fetched.push_back(value);
    }
  }
  return Status();
}

void Compiler::bind_fetches() {
  for (const ir::ValueId value : compiled_.fetched) {
    const Held& source = held(value);
    if (source.constant != nullptr) {
      bind_result(source, Layout::kPlain, -1);
      program_.results_.back() = *source.constant;
      continue;
    }
    bind_result(source, Layout::kPlain, slot_in(value, Layout::kPlain, static_cast<int64_t>(source.dims.size())));
  }
  for (const Carried& carried : compiled_.carried) {
    const Held& source = held(carried.value);
    bind_result(source, carried.layout, source.slot);
  }
}

/// One more result of the program, which lies in `layout` in this slot; -1: it is known already.
void Compiler::bind_result(const Held& source, Layout layout, int slot) {
  program_.fetch_slots_.push_back(slot);
  program_.results_.emplace_back();
  result_specs_.push_back({source.type, stored_dims(source.dims, layout), layout, nullptr});
  if (slot >= 0) result_bytes_ += storage_bytes(source.type, ir::checked_count(source.dims));
}

/// Fetched values are made where their result lies, unless two fetches are one buffer.
void Compiler::place_in_results(const std::vector<int>& root) {
  program_.result_slots_.resize(result_specs_.size());
  for (size_t i = 0; i < result_specs_.size(); ++i) {
    if (program_.fetch_slots_[i] < 0) continue;
    Slot& slot = slots_[static_cast<size_t>(root[static_cast<size_t>(program_.fetch_slots_[i])])];
    const Spec& spec = result_specs_[i];
    if (!slot.in_arena() || slot.bytes != storage_bytes(spec.type, ir::checked_count(spec.dims))) continue;
    slot.result = static_cast<int>(i);
  }
  for (size_t s = 0; s < slots_.size(); ++s) {
    const int result = slots_[static_cast<size_t>(root[s])].result;
    if (result >= 0) program_.result_slots_[static_cast<size_t>(result)].push_back(static_cast<int>(s));
  }
}

void Compiler::allocate(const Arena& planned, const std::vector<int>& root) {
  for (size_t i = 0; i < result_specs_.size(); ++i) {
    const Spec& spec = result_specs_[i];
    if (program_.fetch_slots_[i] >= 0) program_.results_[i] = ir::Tensor::allocate(spec.type, spec.dims);
  }
  auto* arena = static_cast<std::byte*>(std::aligned_alloc(64, std::max<size_t>(program_.arena_bytes_, 64)));
  if (arena == nullptr) throw std::bad_alloc();  // no Status: that would be a limit, which a caller may go around
  program_.arena_ = {arena, [](std::byte* p) { std::free(p); }};
  program_.scratch_ = arena + planned.plan.total;
  program_.buffers_.resize(slots_.size());
  place(planned, arena, root);
  for (size_t s = 0; s < slots_.size(); ++s) {
    const Slot& owner = slots_[static_cast<size_t>(root[s])];
    if (slots_[s].constant.is_defined())
      program_.buffers_[s] = const_cast<std::byte*>(slots_[s].constant.raw());  // no step writes to it
    if (owner.result >= 0) program_.buffers_[s] = program_.results_[static_cast<size_t>(owner.result)].fresh_raw();
  }
}

/// By slot: a step, a tap or a result reads it.
std::vector<bool> Compiler::slots_in_use() const {
  std::vector<bool> used(slots_.size());
  const auto use = [&](int slot) {
    if (slot >= 0) used[static_cast<size_t>(slot)] = true;
  };
  for (const Step& step : program_.steps_) std::ranges::for_each(step.inputs, use);
  for (const Tap& tap : program_.taps_) use(tap.slot);
  std::ranges::for_each(program_.fetch_slots_, use);
  return used;
}

/// Those that a run reads; the others, such as weights that a kernel has packed, are released.
void Compiler::own_constants(const std::vector<bool>& used) {
  for (size_t s = 0; s < slots_.size(); ++s) {
    if (used[s] && slots_[s].constant.is_defined()) program_.owned_.push_back(slots_[s].constant);
  }
}

/// A segment is not given what it hands on alone: that may lie on disk.
void Compiler::leave_out_feeds(const std::vector<bool>& used) {
  compiled_.reads_feed.assign(request_.feeds.size(), true);
  if (request_.segment_bytes == 0) return;
  size_t kept = 0;
  for (size_t i = 0; i < request_.feeds.size(); ++i) {
    compiled_.reads_feed[i] = used[static_cast<size_t>(program_.feed_slots_[i])];
    if (!compiled_.reads_feed[i]) continue;
    program_.feed_slots_[kept] = program_.feed_slots_[i];
    program_.feeds_[kept] = program_.feeds_[i];
    program_.feed_names_[kept++] = program_.feed_names_[i];
  }
  program_.feed_slots_.resize(kept);
  program_.feeds_.resize(kept);
  program_.feed_names_.resize(kept);
}

Result<Compiled> Compiler::finish() {
  QQ_RETURN_IF_ERROR(choose_fetches());
  bind_fetches();
  for (const ir::ValueId value : request_.taps) {
    const When when = held(value).when;
    if (when == When::kLater || (when == When::kUnset && compiled_.is_cut)) compiled_.unheard.push_back(value);
  }
  std::vector<int> root(slots_.size()), last(slots_.size(), -1);
  plan_slots(root, last);
  place_in_results(root);
  const Arena arena = plan_arena(root);
  program_.arena_bytes_ = arena.plan.total + (scratch_bytes_ + 63) / 64 * 64;
  const double needed = static_cast<double>(program_.arena_bytes_) + static_cast<double>(result_bytes_);
  const auto allowed = static_cast<double>(allowed_memory(request_.max_memory));
  if (needed > allowed) {
    return resource_error("running the model needs ", bytes_text(needed),
                          " for intermediate values and results, allowed are ", bytes_text(allowed));
  }
  allocate(arena, root);
  const std::vector<bool> used = slots_in_use();
  own_constants(used);
  leave_out_feeds(used);
  std::stable_sort(program_.taps_.begin(), program_.taps_.end(),
                   [](const Tap& a, const Tap& b) { return a.after_step < b.after_step; });
  return std::move(compiled_);
}

// Where the values of a program lie: in one arena, and in a file between their uses where a limit asks for it.

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
