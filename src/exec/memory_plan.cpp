// SPDX-License-Identifier: MIT
#include "exec/memory_plan.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

#include "base/file_system.h"
#include "base/residency.h"

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

namespace {

constexpr int64_t kPackedAlignment = 64;

}  // namespace

MemoryPlan pack_by_size(const std::vector<Lifetime>& lifetimes) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  const auto size_of = [&](size_t i) {
    const int64_t bytes = std::max<int64_t>(lifetimes[i].bytes, 1);
    return static_cast<size_t>((bytes + kPackedAlignment - 1) / kPackedAlignment * kPackedAlignment);
  };
  MemoryPlan plan;
  plan.offsets.resize(lifetimes.size());
  std::vector<size_t> placed;
  std::vector<std::pair<size_t, size_t>> busy;  // offset, bytes
  for (const size_t i : order) {
    busy.clear();
    for (const size_t other : placed) {
      const bool together = lifetimes[other].first <= lifetimes[i].last && lifetimes[i].first <= lifetimes[other].last;
      if (together) busy.emplace_back(plan.offsets[other], size_of(other));
    }
    std::ranges::sort(busy);
    size_t offset = 0;
    for (const auto& [begin, bytes] : busy) {
      if (offset + size_of(i) <= begin) break;
      offset = std::max(offset, begin + bytes);
    }
    plan.offsets[i] = offset;
    plan.total = std::max(plan.total, offset + size_of(i));
    placed.push_back(i);
  }
  return plan;
}

namespace {

/// Goes through the steps with what is in memory.
class Sweep {
 public:
  Sweep(const std::vector<BufferUse>& buffers, const ValueLimit& limit) : buffers_(buffers), limit_(limit) {
    states_.resize(buffers.size());
    by_first_.resize(buffers.size());
    std::iota(by_first_.begin(), by_first_.end(), size_t{0});
    std::ranges::stable_sort(by_first_, {}, [&](size_t i) { return buffers_[i].steps.front(); });
    for (const BufferUse& buffer : buffers) end_ = std::max(end_, buffer.steps.back() + 1);
  }

  /// By buffer: the positions in its steps after which it leaves.
  std::vector<std::vector<size_t>> run() {
    size_t begun = 0;
    for (int step = 0; step < end_; ++step) {
      for (; begun < by_first_.size() && first(by_first_[begun]) <= step; ++begun) {
        live_.push_back(by_first_[begun]);
        bytes_ += buffers_[live_.back()].bytes;
      }
      for (const size_t i : live_) advance(i, step);
      while (bytes_ > limit_.bytes && spill_one(step)) {
      }
      std::erase_if(live_, [&](size_t i) { return ends(i, step); });
    }
    std::vector<std::vector<size_t>> gaps;
    for (State& state : states_) gaps.push_back(std::move(state.gaps));
    return gaps;
  }

 private:
  struct State {
    size_t next = 0;  ///< position of the first use at this step or later
    bool is_away = false;
    std::vector<size_t> gaps;
  };

  int first(size_t i) const { return buffers_[i].steps.front(); }
  int next_use(size_t i) const { return buffers_[i].steps[states_[i].next]; }

  void advance(size_t i, int step) {
    State& state = states_[i];
    while (buffers_[i].steps[state.next] < step) ++state.next;
    if (!state.is_away || next_use(i) != step) return;
    state.is_away = false;
    bytes_ += buffers_[i].bytes;
  }

  bool spill_one(int step) {
    const size_t* last = nullptr;
    for (const size_t& i : live_) {
      if (states_[i].is_away || buffers_[i].bytes < limit_.least_spilled || next_use(i) == step) continue;
      if (last == nullptr || next_use(i) > next_use(*last)) last = &i;
    }
    if (last == nullptr) return false;
    State& state = states_[*last];
    state.is_away = true;
    state.gaps.push_back(state.next - 1);
    bytes_ -= buffers_[*last].bytes;
    return true;
  }

  bool ends(size_t i, int step) {
    if (buffers_[i].steps.back() > step) return false;
    bytes_ -= buffers_[i].bytes;
    return true;
  }

  const std::vector<BufferUse>& buffers_;
  const ValueLimit& limit_;
  std::vector<State> states_;
  std::vector<size_t> by_first_, live_;
  int64_t bytes_ = 0;
  int end_ = 0;
};

}  // namespace

std::vector<Piece> plan_pieces(const std::vector<BufferUse>& buffers, const ValueLimit& limit) {
  const std::vector<std::vector<size_t>> gaps =
      limit.bytes > 0 ? Sweep(buffers, limit).run() : std::vector<std::vector<size_t>>(buffers.size());
  std::vector<Piece> pieces;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const BufferUse& buffer = buffers[i];
    size_t begin = 0;
    for (const size_t end : gaps[i]) {
      pieces.push_back({i, {buffer.bytes, buffer.steps[begin], buffer.steps[end]}});
      begin = end + 1;
    }
    pieces.push_back({i, {buffer.bytes, buffer.steps[begin], buffer.steps.back()}});
  }
  return pieces;
}

namespace {

std::vector<size_t> sorted_by(const std::vector<Spill>& spills, int Spill::*step) {
  std::vector<size_t> order(spills.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return spills[i].*step; });
  return order;
}

}  // namespace

Spills::~Spills() {
  if (file_ >= 0) platform::close_file(file_);
}

Spills& Spills::operator=(Spills&& other) noexcept {
  std::swap(all_, other.all_);
  std::swap(by_after_, other.by_after_);
  std::swap(by_before_, other.by_before_);
  std::swap(written_, other.written_);
  std::swap(read_, other.read_);
  std::swap(file_, other.file_);
  return *this;
}

void Spills::plan_file() {
  by_after_ = sorted_by(all_, &Spill::after);
  by_before_ = sorted_by(all_, &Spill::before);
  std::vector<Lifetime> lifetimes;
  for (const Spill& spill : all_) lifetimes.push_back({spill.bytes, spill.after, spill.before});
  const MemoryPlan plan = plan_memory(lifetimes);
  for (size_t i = 0; i < all_.size(); ++i) all_[i].offset = plan.offsets[i];
}

void Spills::begin(std::span<std::byte*> buffers) {
  written_ = read_ = 0;
  for (size_t i = all_.size(); i-- > 0;) {  // backwards: the first place of a buffer is set last
    for (const int slot : all_[i].slots) buffers[static_cast<size_t>(slot)] = all_[i].from;
  }
}

Status Spills::write_after(int step) {
  for (; written_ < by_after_.size() && all_[by_after_[written_]].after <= step; ++written_) {
    const Spill& spill = all_[by_after_[written_]];
    if (file_ < 0) {
      QQ_TRY(file_, open_temporary_file());
    }
    if (!write_all_at(file_, spill.from, static_cast<size_t>(spill.bytes), spill.offset))
      return io_error("temporary file of intermediate values: cannot write, ", std::strerror(errno));
  }
  return Status();
}

Status Spills::read_before(int step, std::span<std::byte*> buffers) {
  for (; read_ < by_before_.size() && all_[by_before_[read_]].before <= step; ++read_) {
    const Spill& spill = all_[by_before_[read_]];
    if (!read_all_at(file_, spill.to, static_cast<size_t>(spill.bytes), spill.offset))
      return io_error("temporary file of intermediate values: cannot read, ", std::strerror(errno));
    for (const int slot : spill.slots) buffers[static_cast<size_t>(slot)] = spill.to;
  }
  return Status();
}

}  // namespace quarkq::exec
