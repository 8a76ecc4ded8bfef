// SPDX-License-Identifier: MIT
#include "calib/quantiles.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace quarkq::calib {
namespace {

/// Bins of magnitudes, ascending.
std::vector<WeightedValue> magnitudes(const ValueStatistics& statistics) {
  const std::vector<WeightedValue> bins = statistics.bins();
  std::vector<WeightedValue> sorted(bins.size()), merged;
  const auto positive = std::find_if(bins.begin(), bins.end(), [](const WeightedValue& bin) { return bin.value >= 0; });
  std::merge(std::make_reverse_iterator(positive), bins.rend(), positive, bins.end(), sorted.begin(),
             [](const WeightedValue& a, const WeightedValue& b) { return std::abs(a.value) < std::abs(b.value); });
  for (WeightedValue& bin : sorted) bin.value = std::abs(bin.value);
  for (const WeightedValue& bin : sorted) {
    if (!merged.empty() && merged.back().value == bin.value) {
      merged.back().count += bin.count;
    } else {
      merged.push_back(bin);
    }
  }
  return merged;
}

/// The value of rank `rank` (1: the smallest) of the values in `bins`, ascending: its bin's values count as spread
/// evenly.
float value_of_rank(const std::vector<WeightedValue>& bins, uint64_t rank) {
  uint64_t below = 0;
  for (const WeightedValue& bin : bins) {
    if (below + bin.count < rank) {
      below += bin.count;
      continue;
    }
    const double place = (static_cast<double>(rank - below) - 0.5) / static_cast<double>(bin.count);
    return static_cast<float>(static_cast<double>(bin.value) + static_cast<double>(bin.width) * (place - 0.5));
  }
  return 0;
}

/// The smallest rank with rank / count >= fraction. A product that is a whole number but for rounding counts as it.
uint64_t rank_of(double fraction, uint64_t count) {
  const double wanted = fraction * static_cast<double>(count);
  const double rank = std::ceil(wanted - wanted * 1e-12);
  return std::clamp<uint64_t>(static_cast<uint64_t>(std::max(rank, 1.0)), 1, count);
}

}  // namespace

float magnitude_quantile(const ValueStatistics& statistics, double percent) {
  const uint64_t count = statistics.count();
  if (count == 0) return 0;
  const numeric::Range extremes = statistics.extremes();
  const float largest = std::max(std::abs(extremes.min), std::abs(extremes.max));
  const uint64_t rank = rank_of(percent / 100, count);
  return rank == count ? largest : std::min(value_of_rank(magnitudes(statistics), rank), largest);
}

float value_quantile(const ValueStatistics& statistics, double fraction) {
  const uint64_t count = statistics.count();
  if (count == 0) return 0;
  const numeric::Range extremes = statistics.extremes();
  const uint64_t rank = rank_of(fraction, count);
  if (rank == 1) return extremes.min;
  if (rank == count) return extremes.max;
  return std::clamp(value_of_rank(statistics.bins(), rank), extremes.min, extremes.max);
}

numeric::Range percentile_range(const ValueStatistics& statistics, double percent, bool symmetric) {
  const numeric::Range extremes = statistics.extremes();
  if (symmetric) {
    const float most = magnitude_quantile(statistics, percent);
    return {std::max(-most, extremes.min), std::min(most, extremes.max)};
  }
  const double cut = (100 - percent) / 200;
  return {value_quantile(statistics, cut), value_quantile(statistics, 1 - cut)};
}

}  // namespace quarkq::calib
