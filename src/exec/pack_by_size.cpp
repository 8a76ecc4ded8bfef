// SPDX-License-Identifier: MIT
#include "exec/pack_by_size.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace quarkq::exec {
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

}  // namespace quarkq::exec
