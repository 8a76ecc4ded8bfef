// SPDX-License-Identifier: MIT
#include "calib/weight_mse.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "calib/uniform_histogram.h"
#include "numeric/linear_quant.h"

namespace quarkq::calib {
namespace {

using numeric::QuantParams;
using numeric::Range;

/// NumPy's percentile with linear interpolation (ref:calibration#numpy-primitives). REQUIRES: sorted, not empty.
float percentile(const std::vector<float>& sorted, double percent) {
  const double place = static_cast<double>(sorted.size() - 1) * (percent / 100);
  const auto below = static_cast<size_t>(place);
  if (below + 1 >= sorted.size()) return sorted.back();
  const double fraction = place - static_cast<double>(below);
  const float width = sorted[below + 1] - sorted[below];
  return fraction < 0.5 ? sorted[below] + width * static_cast<float>(fraction)
                        : sorted[below + 1] - width * static_cast<float>(1 - fraction);
}

std::vector<Range> percentile_ranges(std::span<const float> values) {
  std::vector<float> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<Range> ranges;
  for (const double percent : {99.9, 99.99, 99.999, 99.9999}) {
    const double cut = (100 - percent) / 2;
    ranges.push_back({percentile(sorted, cut), percentile(sorted, 100 - cut)});
  }
  return ranges;
}

struct Histogram {
  std::vector<float> centres;
  std::vector<float> counts;
};

Result<Histogram> histogram_of(std::span<const float> values) {
  constexpr size_t kMostBins = 2048;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const auto bins = static_cast<int64_t>(std::min(kMostBins, values.size()));
  QQ_TRY(const UniformEdges<float> edges, make_uniform_edges(*low, *high, bins));
  BinCounts counts;
  count_uniform(values, edges, counts);
  Histogram histogram;
  for (int64_t i = 0; i < bins; ++i) {
    histogram.centres.push_back((edges(i + 1) + edges(i)) / 2);
    histogram.counts.push_back(static_cast<float>(counts.at(i)));
  }
  return histogram;
}

/// From about the middle half of the histogram to all of it.
std::vector<Range> centre_ranges(const Histogram& histogram) {
  const auto bins = static_cast<double>(histogram.centres.size());
  std::vector<Range> ranges;
  for (auto k = static_cast<int64_t>(0.5 * bins); k < static_cast<int64_t>(bins); ++k) {
    const double rest = (bins - static_cast<double>(k)) / 2;
    ranges.push_back(
        {histogram.centres[static_cast<size_t>(rest)], histogram.centres[static_cast<size_t>(bins - rest)]});
  }
  return ranges;
}

/// Mean of (dequantized - value)^2, each times its count when there are counts.
float mean_square(std::span<const float> values, const std::vector<float>* counts, const QuantParams& params,
                  numeric::IntegerRange limits) {
  std::vector<float> back(values.size());
  const auto count = static_cast<int64_t>(values.size());
  QQ_DISPATCH(numeric, fake_quantize)
  (values.data(), back.data(), count, {params.scale, params.zero_point, limits, numeric::Overflow::kSaturate});
  const float sum = pairwise_sum(0, count, [&](int64_t at) {
    const auto i = static_cast<size_t>(at);
    const float difference = back[i] - values[i];
    return difference * difference * (counts == nullptr ? 1.0f : (*counts)[i]);
  });
  return sum / static_cast<float>(count);
}

}  // namespace

Result<WeightMseResult> search_weight_mse(std::span<const float> values, numeric::QuantSpec spec,
                                          numeric::IntegerRange limits, WeightMseMode mode) {
  spec.scale = numeric::ScaleKind::kFloat;
  WeightMseResult best;
  if (values.empty()) {
    QQ_TRY(best.params, numeric::params_for_range(spec, best.range));
    return best;
  }
  Histogram histogram;
  std::vector<Range> ranges;
  if (mode == WeightMseMode::kPercentile) {
    ranges = percentile_ranges(values);
  } else {
    QQ_TRY(histogram, histogram_of(values));
    ranges = centre_ranges(histogram);
  }
  const bool on_bins = mode == WeightMseMode::kHistCenter;
  std::set<float> tried;
  float least = 0;
  for (const Range& range : ranges) {
    QQ_TRY(const QuantParams params, numeric::params_for_range(spec, range));
    if (!tried.insert(params.scale).second) continue;
    const float error = on_bins ? mean_square(histogram.centres, &histogram.counts, params, limits)
                                : mean_square(values, nullptr, params, limits);
    if (tried.size() > 1 && !(error < least)) continue;
    least = error;
    best = {range, params};
  }
  return best;
}

}  // namespace quarkq::calib
