// SPDX-License-Identifier: MIT
#include "exec/spill_plan.h"

#include <algorithm>
#include <numeric>

namespace quarkq::exec {
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

}  // namespace quarkq::exec
