// SPDX-License-Identifier: MIT
// Entropy (ref:calibration#entropy) from the fixed bins: of the ranges about zero the one whose histogram loses least
// when it is quantized to NumQuantizedBins levels. With as many bins as levels, the default, that is the whole range
// (ADR 0006).
#include <algorithm>
#include <cmath>
#include <limits>

#include "calib/calibrator_table.h"
#include "calib/divergence.h"

namespace quarkq::calib {
namespace {

constexpr int64_t kDefaultBins = 128;      // the reference's
constexpr int64_t kMostNumBins = 1 << 14;  // the search grows with the square

/// Equal bins over [-limit, limit].
struct LinearHistogram {
  double limit = 0;
  std::vector<int64_t> counts;

  double edge(int64_t i) const {
    return limit * (2.0 * static_cast<double>(i) / static_cast<double>(counts.size()) - 1.0);
  }
};

/// A fixed bin's values count as spread evenly. Its parts are whole numbers that add up to its count.
void spread(const WeightedValue& bin, LinearHistogram& histogram) {
  const auto size = static_cast<double>(histogram.counts.size());
  const double low = static_cast<double>(bin.value) - static_cast<double>(bin.width) / 2;
  const double high = low + static_cast<double>(bin.width);
  auto place = [&](double value) {
    const double position = (value / histogram.limit + 1.0) * 0.5 * size;
    return static_cast<size_t>(std::clamp(std::floor(position), 0.0, size - 1.0));
  };
  const size_t first = place(low), last = place(high);
  uint64_t given = 0;
  for (size_t i = first; i < last; ++i) {
    const double share = (histogram.edge(static_cast<int64_t>(i) + 1) - low) / (high - low);
    const auto until = static_cast<uint64_t>(std::floor(share * static_cast<double>(bin.count) + 0.5));
    histogram.counts[i] += static_cast<int64_t>(until - given);
    given = until;
  }
  histogram.counts[last] += static_cast<int64_t>(bin.count - given);
}

}  // namespace

Result<numeric::Range> finish_entropy(const ValueStatistics& statistics, const MethodOptions& options) {
  const numeric::Range extremes = statistics.extremes();
  LinearHistogram histogram;
  histogram.limit = std::max(std::abs(static_cast<double>(extremes.min)), std::abs(static_cast<double>(extremes.max)));
  if (histogram.limit == 0) return numeric::Range{};
  const int64_t size = options.num_bins.value_or(kDefaultBins), levels = options.num_quantized_bins;
  if (levels < 1 || size < levels || size > kMostNumBins) {
    return invalid_argument("NumBins: found ", size, ", allowed is NumQuantizedBins (", levels, ") to ", kMostNumBins);
  }
  histogram.counts.assign(static_cast<size_t>(size), 0);
  for (const WeightedValue& bin : statistics.bins()) spread(bin, histogram);
  const int64_t middle = size / 2, narrowest = levels / 2;
  DivergenceSearch search(histogram.counts, levels);
  numeric::Range best = extremes;
  float least = std::numeric_limits<float>::infinity();
  for (int64_t reach = narrowest; reach <= middle; ++reach) {
    const int64_t begin = middle - reach, end = std::min(middle + reach + 1, size);
    QQ_TRY(const float found, search.divergence(begin, end));
    if (!(found < least)) continue;
    least = found;
    best = {static_cast<float>(histogram.edge(begin)), static_cast<float>(histogram.edge(end))};
  }
  return numeric::Range{std::max(best.min, extremes.min), std::min(best.max, extremes.max)};
}

}  // namespace quarkq::calib
