// SPDX-License-Identifier: MIT
#include "exec/buffer_planner.h"

#include <algorithm>

namespace quarkq::exec {
namespace {

constexpr size_t kMostPacked = 2048;  // pieces, for which packing by size takes milliseconds

size_t slot_index(int slot) { return static_cast<size_t>(slot); }

class BufferPlanner {
 public:
  explicit BufferPlanner(const BufferRequest& request)
      : request_(request),
        end_(static_cast<int>(request.steps.size())),
        last_(request.slots.size(), -1),
        is_result_(request.slots.size()) {}

  BufferPlan run() {
    find_last_uses();
    share_in_place();
    place_in_results();
    plan_arena();
    return std::move(plan_);
  }

 private:
  bool is_in_arena(int slot) const {
    return request_.slots[slot_index(slot)].is_made() && !is_result_[slot_index(slot)];
  }

  void find_last_uses() {
    for (int s = 0; s < end_; ++s) {
      for (const int slot : request_.steps[slot_index(s)].inputs) {
        if (slot >= 0) last_[slot_index(slot)] = s;
      }
      for (const int slot : request_.steps[slot_index(s)].outputs) {
        if (slot >= 0) last_[slot_index(slot)] = std::max(last_[slot_index(slot)], s);
      }
    }
    for (const Tap& tap : request_.taps) {
      // One step longer: a value whose tap is observed late (a reshaped one) must not be overwritten in place by that
      // very step.
      last_[slot_index(tap.slot)] = std::max(last_[slot_index(tap.slot)], tap.after_step + 1);
    }
    for (const int slot : request_.fetch_slots) {
      if (slot >= 0) last_[slot_index(slot)] = end_;
    }
  }

  void share_in_place() {
    for (size_t s = 0; s < request_.slots.size(); ++s) owner_.push_back(static_cast<int>(s));
    for (const InPlace& pair : request_.in_place) {
      if (pair.input_slot < 0) continue;
      // A node of more than two inputs computes step by step: Sum(x, y, x) reads x again after the first step.
      const std::vector<int>& read = request_.steps[slot_index(pair.step)].inputs;
      if (std::count(read.begin(), read.end(), pair.input_slot) > 1) continue;
      const int from = owner_[slot_index(pair.input_slot)], to = pair.output_slot;
      const bool fits = request_.slots[slot_index(from)].bytes == request_.slots[slot_index(to)].bytes;
      if (!is_in_arena(from) || !fits || last_[slot_index(from)] != pair.step) continue;
      owner_[slot_index(to)] = from;
      last_[slot_index(from)] = last_[slot_index(to)];
    }
  }

  /// Fetched values are computed into their result, unless two fetches are one buffer.
  void place_in_results() {
    plan_.result_slots.resize(request_.fetch_slots.size());
    std::vector<int> result(request_.slots.size(), -1);  // indexed by owner
    for (size_t i = 0; i < request_.fetch_slots.size(); ++i) {
      if (request_.fetch_slots[i] < 0) continue;
      const int owner = owner_[slot_index(request_.fetch_slots[i])];
      if (!is_in_arena(owner) || request_.slots[slot_index(owner)].bytes != request_.result_bytes[i]) continue;
      is_result_[slot_index(owner)] = true;
      result[slot_index(owner)] = static_cast<int>(i);
    }
    for (size_t s = 0; s < request_.slots.size(); ++s) {
      const int of = result[slot_index(owner_[s])];
      if (of >= 0) plan_.result_slots[slot_index(of)].push_back(static_cast<int>(s));
    }
  }

  /// Returns the steps that touch the buffer of each owner, ascending.
  std::vector<std::vector<int>> steps_of_buffers() const {
    std::vector<std::vector<int>> steps(request_.slots.size());
    const auto use = [&](int slot, int step) {
      if (slot >= 0) steps[slot_index(owner_[slot_index(slot)])].push_back(step);
    };
    for (int s = 0; s < end_; ++s) {
      for (const int slot : request_.steps[slot_index(s)].inputs) use(slot, s);
      for (const int slot : request_.steps[slot_index(s)].outputs) use(slot, s);
    }
    for (const Tap& tap : request_.taps) {
      use(tap.slot, std::max(tap.after_step, 0));
      use(tap.slot, tap.after_step + 1);  // find_last_uses() explains why
    }
    for (const int slot : request_.fetch_slots) use(slot, end_);
    for (std::vector<int>& touched : steps) {
      std::ranges::sort(touched);
      touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
      if (touched.empty()) touched.push_back(0);
    }
    return steps;
  }

  void plan_arena() {
    std::vector<std::vector<int>> steps = steps_of_buffers();
    std::vector<BufferUse> uses;
    std::vector<size_t> buffer_of(request_.slots.size());  // indexed by owner
    for (size_t s = 0; s < request_.slots.size(); ++s) {
      const auto slot = static_cast<int>(s);
      if (!is_in_arena(slot) || owner_[s] != slot) continue;
      buffer_of[s] = uses.size();
      uses.push_back({request_.slots[s].bytes, std::move(steps[s])});
    }
    plan_.piece_slots.resize(uses.size());
    for (size_t s = 0; s < request_.slots.size(); ++s) {
      if (is_in_arena(owner_[s])) plan_.piece_slots[buffer_of[slot_index(owner_[s])]].push_back(static_cast<int>(s));
    }
    plan_.pieces = plan_pieces(uses, request_.limit);
    std::vector<Lifetime> lifetimes;
    for (const Piece& piece : plan_.pieces) lifetimes.push_back(piece.lifetime);
    plan_.memory = plan_memory(lifetimes);
    if (request_.limit.bytes == 0 || lifetimes.size() > kMostPacked) return;
    MemoryPlan packed = pack_by_size(lifetimes);
    if (packed.total < plan_.memory.total) plan_.memory = std::move(packed);
  }

  const BufferRequest& request_;
  const int end_;
  std::vector<int> owner_;       ///< The slot whose buffer a slot shares, or the slot itself.
  std::vector<int> last_;        ///< The last step that touches a slot.
  std::vector<bool> is_result_;  ///< Whether an owner's buffer is the memory of a result.
  BufferPlan plan_;
};

}  // namespace

BufferPlan plan_buffers(const BufferRequest& request) { return BufferPlanner(request).run(); }

}  // namespace quarkq::exec
