// SPDX-License-Identifier: MIT
#include "exec/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>

namespace quarkq::exec {
namespace {

constexpr size_t kAlignment = 64;

/// Free holes of the arena, by offset, neighbours merged. The arena grows at its end.
class HoleList {
 public:
  size_t take(size_t bytes) {
    auto best = holes_.end();
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      if (hole->second >= bytes && (best == holes_.end() || hole->second < best->second)) best = hole;
    }
    if (best == holes_.end()) return grow(bytes);
    const size_t offset = best->first;
    const size_t rest = best->second - bytes;
    holes_.erase(best);
    if (rest > 0) holes_[offset + bytes] = rest;
    return offset;
  }

  void give_back(size_t offset, size_t bytes) {
    auto next = holes_.lower_bound(offset);
    if (next != holes_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = holes_.erase(next);
    }
    if (next != holes_.begin()) {
      auto previous = std::prev(next);
      if (previous->first + previous->second == offset) {
        previous->second += bytes;
        return;
      }
    }
    holes_[offset] = bytes;
  }

  size_t total() const { return total_; }

 private:
  size_t grow(size_t bytes) {
    size_t offset = total_;
    if (!holes_.empty()) {  // a hole at the very end becomes the start of the new piece
      const auto last = std::prev(holes_.end());
      if (last->first + last->second == total_) {
        offset = last->first;
        holes_.erase(last);
      }
    }
    total_ = offset + bytes;
    return offset;
  }
  std::map<size_t, size_t> holes_;
  size_t total_ = 0;
};

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes) {
  MemoryPlan plan;
  plan.offsets.resize(lifetimes.size());
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].first < lifetimes[b].first; });
  using Ending = std::pair<int, size_t>;  // last step, lifetime
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> alive;
  HoleList holes;
  auto rounded = [&](size_t i) {
    return (static_cast<size_t>(std::max<int64_t>(lifetimes[i].bytes, 1)) + kAlignment - 1) / kAlignment * kAlignment;
  };
  for (const size_t i : order) {
    while (!alive.empty() && alive.top().first < lifetimes[i].first) {
      holes.give_back(plan.offsets[alive.top().second], rounded(alive.top().second));
      alive.pop();
    }
    plan.offsets[i] = holes.take(rounded(i));
    alive.push({lifetimes[i].last, i});
  }
  plan.total = holes.total();
  return plan;
}

}  // namespace quarkq::exec
