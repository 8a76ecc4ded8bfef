// SPDX-License-Identifier: MIT
#include "calib/quark/histogram_pow2.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "calib/quark/sanitize.h"

namespace quarkq::calib {
namespace {

void clamp_infinities(CleanSample& sample) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  if (!sample.has_infinity()) return;
  for (float& x : sample.repaired) x = std::clamp(x, -kLargest, kLargest);
  sample.extremes.min = std::clamp(sample.extremes.min, -kLargest, kLargest);
  sample.extremes.max = std::clamp(sample.extremes.max, -kLargest, kLargest);
}

}  // namespace

Status HistogramPow2::add(std::span<const float> values) {
  if (values.empty()) return bad_data("histogram: a sample is empty");
  CleanSample sample = clean_sample(values);
  clamp_infinities(sample);
  const double low = sample.extremes.min, high = sample.extremes.max;
  if (!edges_) {
    QQ_TRY(edges_, make_uniform_edges(low, high, first_bins_));
    count_uniform(sample.values, *edges_, counts_);
    seen_ = sample.extremes;
    return {};
  }
  if (low < edges_->first || high > edges_->last) QQ_RETURN_IF_ERROR(grow(sample.extremes));
  count_between<double>(sample.values, *edges_, counts_);
  seen_ = {std::min(seen_.min, sample.extremes.min), std::max(seen_.max, sample.extremes.max)};
  return {};
}

Status HistogramPow2::grow(const numeric::Range& extremes) {
  const double width = edge(1) - edge(0);
  const double left = std::max(0.0, std::ceil((edges_->first - static_cast<double>(extremes.min)) / width));
  const double right = std::max(0.0, std::ceil((static_cast<double>(extremes.max) - edges_->last) / width));
  if (!(left + right <= static_cast<double>(kMaxBins - bins()))) {
    return bad_data("histogram: growing from [", edges_->first, ", ", edges_->last, "] to [", extremes.min, ", ",
                    extremes.max, "] by bins of ", width, " exceeds ", kMaxBins, " bins");
  }
  UniformEdges<double> edges = *edges_;
  edges.first -= left * width;
  edges.last += right * width;
  edges.bins += static_cast<int64_t>(left) + static_cast<int64_t>(right);
  edges.step = (edges.last - edges.first) / static_cast<double>(edges.bins);
  edges_ = edges;
  counts_.shift(static_cast<int64_t>(left));
  return {};
}

}  // namespace quarkq::calib
