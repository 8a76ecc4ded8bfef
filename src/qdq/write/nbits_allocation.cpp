// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>

#include "qdq/write/nbits_choice.h"

namespace quarkq::qdq {
namespace {

/// The formats that are best for some price per byte, from the smallest to the largest.
std::vector<size_t> hull_of(const std::vector<FormatCost>& costs) {
  std::vector<size_t> sorted(costs.size());
  std::iota(sorted.begin(), sorted.end(), size_t{0});
  std::ranges::stable_sort(sorted, [&](size_t a, size_t b) {
    return costs[a].bytes != costs[b].bytes ? costs[a].bytes < costs[b].bytes : costs[a].loss < costs[b].loss;
  });
  const auto slope = [&](size_t from, size_t to) {
    return (costs[from].loss - costs[to].loss) / (costs[to].bytes - costs[from].bytes);
  };
  std::vector<size_t> hull;
  for (const size_t at : sorted) {
    if (!hull.empty() && !(costs[at].loss < costs[hull.back()].loss)) continue;  // larger and not better
    while (hull.size() > 1 && slope(hull.back(), at) >= slope(hull[hull.size() - 2], hull.back())) hull.pop_back();
    hull.push_back(at);
  }
  return hull;
}

struct Upgrade {
  size_t matrix, to;
  double bytes, slope;
};

}  // namespace

std::optional<std::vector<size_t>> allocate_formats(const std::vector<std::vector<FormatCost>>& costs, double budget) {
  std::vector<size_t> chosen;
  std::vector<Upgrade> upgrades;
  double bytes = 0;
  for (size_t m = 0; m < costs.size(); ++m) {
    const std::vector<size_t> hull = hull_of(costs[m]);
    chosen.push_back(hull.front());
    bytes += costs[m][hull.front()].bytes;
    for (size_t i = 1; i < hull.size(); ++i) {
      const FormatCost &from = costs[m][hull[i - 1]], &to = costs[m][hull[i]];
      upgrades.push_back({m, hull[i], to.bytes - from.bytes, (from.loss - to.loss) / (to.bytes - from.bytes)});
    }
  }
  if (bytes > budget) return std::nullopt;
  // Slopes fall along a hull, so that the upgrades of a matrix stay in order.
  std::ranges::stable_sort(upgrades, [](const Upgrade& a, const Upgrade& b) { return a.slope > b.slope; });
  std::vector<bool> is_full(costs.size(), false);
  for (const Upgrade& one : upgrades) {
    if (is_full[one.matrix]) continue;
    if (bytes + one.bytes > budget) {
      is_full[one.matrix] = true;
      continue;
    }
    bytes += one.bytes;
    chosen[one.matrix] = one.to;
  }
  return chosen;
}

}  // namespace quarkq::qdq
