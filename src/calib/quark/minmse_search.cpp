// SPDX-License-Identifier: MIT
#include "calib/quark/minmse_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "calib/quark/value_histogram.h"
#include "calib/uniform_histogram.h"
#include "numeric/real_numbers.h"

namespace quarkq::calib {

namespace {

constexpr uint32_t kSign = 0x80000000;

struct Found {
  uint32_t bin = 0;
  int64_t below = 0;  ///< counts of the bins before it
};

/// The bin that holds the number of rank `rank`.
Found bin_of_rank(const BinCounts& counts, int64_t rank) {
  Found found;
  counts.visit([&](int64_t bin, int64_t count) {
    found.bin = static_cast<uint32_t>(bin);
    if (rank < found.below + count) return false;
    found.below += count;
    return true;
  });
  return found;
}

}  // namespace

uint32_t OrderStatistics::key_of(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

float OrderStatistics::number_of(uint32_t key) {
  return std::bit_cast<float>((key & kSign) != 0 ? key & ~kSign : ~key);
}

OrderStatistics::Place OrderStatistics::place_of(double percentile) const {
  const double position = static_cast<double>(count() - 1) * (percentile / 100);
  if (position >= static_cast<double>(count() - 1)) return {count() - 1, 0, true};
  const double whole = std::floor(position);
  return {static_cast<int64_t>(whole), position - whole, false};
}

void OrderStatistics::choose() {
  for (const double percentile : percentiles_) {
    const Place place = place_of(percentile);
    lower_[bin_of_rank(upper_, place.rank).bin];
    if (!place.is_largest) lower_[bin_of_rank(upper_, place.rank + 1).bin];
  }
}

float OrderStatistics::at_rank(int64_t rank) const {
  const Found upper = bin_of_rank(upper_, rank);
  const Found lower = bin_of_rank(lower_.at(upper.bin), rank - upper.below);
  return number_of(upper.bin << 16 | lower.bin);
}

float OrderStatistics::percentile(size_t index) const {
  const Place place = place_of(percentiles_[index]);
  const float left = at_rank(place.rank);
  if (place.is_largest) return left;
  const float right = at_rank(place.rank + 1), difference = right - left;
  if (place.fraction < 0.5) return left + difference * static_cast<float>(place.fraction);
  return right - difference * static_cast<float>(1 - place.fraction);
}

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

using numeric::QuantParams, numeric::QuantSpec, numeric::Range;

Result<QuantParams> scoring_params(const QuantSpec& spec, Range range, bool is_half) {
  if (!is_half) return params_for_range(spec, range);
  constexpr double kSmallestNormalHalf = 0x1p-14;
  const numeric::IntegerRange limits = spec.range();
  range = {std::min(range.min, 0.0f), std::max(range.max, 0.0f)};
  if (spec.symmetric) range.max = std::max(-range.min, range.max);
  if (spec.symmetric) range.min = -range.max;
  const float width = rounded_to_half(range.max - range.min);
  if (static_cast<double>(width) / static_cast<double>(limits.max - limits.min) < kSmallestNormalHalf) {
    return QuantParams{1.0f, 0};
  }
  if (!spec.symmetric) range.max = range.min + width;
  return params_for_range(spec, range);
}

QuantSpec minmse_spec(const QuantSpec& activation, bool symmetric_range) {
  constexpr ElementType kAllowed[] = {ElementType::kInt8,   ElementType::kUInt8, ElementType::kInt16,
                                      ElementType::kUInt16, ElementType::kInt32, ElementType::kUInt32};
  QuantSpec spec;
  const bool allowed = std::find(std::begin(kAllowed), std::end(kAllowed), activation.type) != std::end(kAllowed);
  spec.type = allowed ? activation.type : ElementType::kInt8;
  spec.symmetric = symmetric_range;
  spec.scale = numeric::ScaleKind::kPowerOfTwo;
  return spec;
}

Result<PowerCandidates> power_candidates(const QuantSpec& spec, Range range, bool is_half) {
  QQ_TRY(const QuantParams params, scoring_params(spec, range, is_half));
  const int position = numeric::power_of_two_position(params.scale);
  PowerCandidates candidates;
  for (int i = 0; i < static_cast<int>(candidates.size()); ++i) {
    candidates[static_cast<size_t>(i)] = {numeric::scale_of_position(position + i - 1), params.zero_point};
  }
  return candidates;
}

float squared_error(std::span<const float> values, const QuantSpec& spec, const QuantParams& params) {
  const numeric::IntegerRange limits = integer_range(spec.type, numeric::RangeKind::kSymmetric);
  const auto low = static_cast<float>(limits.min), high = static_cast<float>(limits.max);
  const auto zero_point = static_cast<float>(params.zero_point);
  const float* data = values.data();
  return pairwise_sum(0, static_cast<int64_t>(values.size()), [=](int64_t i) {
    const float steps = numeric::round_half_even(data[i] / params.scale) + zero_point;
    const float code = std::min(std::max(steps, low), high);
    const float difference = (code - zero_point) * params.scale - data[i];
    return difference * difference;
  });
}

}  // namespace quarkq::calib
