// SPDX-License-Identifier: MIT
#include "calib/quark/value_histogram.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "calib/observe_loops.h"
#include "calib/uniform_histogram.h"

namespace quarkq::calib {

namespace {

numeric::Range extremes_of(std::span<const float> values) {
  if (values.empty()) return {};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {*least, *most};
}

}  // namespace

CleanSample clean_sample(std::span<const float> values, SampleCache cache) {
  const Extremes found = QQ_DISPATCH(calib, find_extremes)(values.data(), static_cast<int64_t>(values.size()));
  CleanSample sample{values, {}, {}};
  if (found.not_finite == 0 && cache == SampleCache::kNone) {
    if (found.finite > 0) sample.extremes = {found.min, found.max};
    return sample;
  }
  sample.repaired.assign(values.begin(), values.end());
  for (float& x : sample.repaired) {
    if (std::isnan(x) || found.finite == 0) x = 0;
    if (cache == SampleCache::kHalf) x = rounded_to_half(x);
  }
  sample.values = sample.repaired;
  sample.extremes = extremes_of(sample.values);
  return sample;
}

double EdgeList::operator()(int64_t i) const {
  if (i <= start_.bins) return static_cast<double>(rounded(start_(i)));
  size_t run = runs_.size() - 1;
  while (runs_[run].index > i) --run;
  const double exact = runs_[run].first + static_cast<double>(i - runs_[run].index) * runs_[run].step;
  return runs_[run].rounded ? static_cast<double>(rounded(static_cast<float>(exact))) : exact;
}

int64_t EdgeList::guess(double x) const {
  for (size_t run = runs_.size(); run-- > 0;) {
    if (x < runs_[run].first) continue;
    const double ahead = runs_[run].step > 0 ? (x - runs_[run].first) / runs_[run].step : 0;
    const int64_t room = bins - 1 - runs_[run].index;  // below zero for the run's last edge, which starts no bin
    return std::max<int64_t>(runs_[run].index + static_cast<int64_t>(std::min(ahead, static_cast<double>(room))), 0);
  }
  return start_.guess(static_cast<float>(x));
}

Status EdgeList::grow(float largest) {
  const auto edge = [&](int64_t i) { return static_cast<float>((*this)(i)); };
  const float width = rounded(edge(1) - edge(0));
  const float first = rounded(edge(bins) + width), stop = rounded(largest + width);
  const double length = std::ceil(static_cast<double>(rounded(rounded(stop - first) / width)));
  if (!(length <= static_cast<double>(kMaxBins - bins))) {
    return bad_data("histogram: growing from ", edge(bins), " to ", largest, " by bins of ", width, " exceeds ",
                    kMaxBins, " bins");
  }
  if (length < 1) return {};
  const float second = rounded(first + width);
  runs_.push_back({bins + 1, first, static_cast<double>(second) - static_cast<double>(first), false});
  bins += static_cast<int64_t>(length);
  return {};
}

void EdgeList::round_runs() {
  for (Run& run : runs_) run.rounded = true;
}

namespace {

/// Left edge of the bin with which the counts reach `fraction` of the total; the last edge when rounding keeps them
/// below it.
float edge_reaching(const ValueHistogram& histogram, double fraction) {
  const auto total = static_cast<double>(histogram.counts().total());
  // The running sum of bin 0 reaches 0; without counts it is NaN, which NumPy sorts after every number.
  int64_t found = total == 0 || fraction <= 0 ? 0 : histogram.bins();
  double sum = 0;
  histogram.counts().visit([&](int64_t bin, int64_t count) {
    sum += static_cast<double>(count) / total;
    if (sum < fraction) return true;
    found = fraction <= 0 ? 0 : bin;
    return false;
  });
  return histogram.edge(found);
}

}  // namespace

void ValueHistogram::widen(const numeric::Range& extremes) {
  seen_ = has_sample_ ? numeric::Range{std::min(seen_.min, extremes.min), std::max(seen_.max, extremes.max)} : extremes;
  has_sample_ = true;
}

std::unique_ptr<ValueHistogram> make_percentile_histogram(const MethodOptions& options) {
  const int64_t bins = options.num_bins.value_or(2048);
  return options.symmetric_range ? make_histogram_abs(bins, options.is_half)
                                 : make_histogram_signed(bins, options.is_half);
}

numeric::Range within_seen(const ValueHistogram& histogram, numeric::Range range) {
  if (range.min < histogram.seen().min) range.min = histogram.seen().min;
  if (range.max > histogram.seen().max) range.max = histogram.seen().max;
  return range;
}

numeric::Range percentile_range(const ValueHistogram& histogram, bool symmetric, double percentile) {
  if (symmetric) {
    const float threshold = edge_reaching(histogram, percentile / 100);
    return within_seen(histogram, {-threshold, threshold});
  }
  const double cut = (100 - percentile) / 200;
  return within_seen(histogram, {edge_reaching(histogram, cut), edge_reaching(histogram, 1 - cut)});
}

Status check_percentile(double percentile) {
  if (percentile >= 0 && percentile <= 100) return {};
  return invalid_argument("percentile: found ", percentile, ", allowed are 0 to 100");
}

// Histogram A of ref:calibration#histogram-of-magnitudes: magnitudes. Its flaws are kept: values below the first
// sample's least magnitude are dropped, and so is an outlier that the rounded step of the appended edges falls short
// of.

namespace {

/// Calls count(magnitudes) on the magnitudes of `values`, block by block.
template <typename Count>
void each_block_of_magnitudes(std::span<const float> values, Count count) {
  constexpr size_t kBlock = 1024;
  float magnitudes[kBlock];
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const size_t size = std::min(kBlock, values.size() - begin);
    for (size_t i = 0; i < size; ++i) magnitudes[i] = std::abs(values[begin + i]);
    count(std::span<const float>(magnitudes, size));
  }
}

float least_magnitude(std::span<const float> values) {
  float least = std::abs(values[0]);
  for (const float x : values) least = std::min(least, std::abs(x));
  return least;
}

class HistogramAbs final : public ValueHistogram {
 public:
  HistogramAbs(int64_t first_bins, bool is_half) : first_bins_(first_bins), is_half_(is_half) {}

  int64_t bins() const override { return edges_->bins; }
  float edge(int64_t i) const override { return static_cast<float>((*edges_)(i)); }

  Status add(const CleanSample& sample) override {
    if (sample.has_infinity()) return bad_data("histogram: a sample contains an infinity");
    const bool is_first = !edges_;
    QQ_RETURN_IF_ERROR(is_first ? start(sample) : count(sample));
    widen(sample.extremes);
    return {};
  }

 private:
  Status start(const CleanSample& sample) {
    const bool empty = sample.values.empty();
    const float low = empty ? 0.0f : least_magnitude(sample.values), high = empty ? 1.0f : sample.reach();
    QQ_TRY(const UniformEdges<float> uniform, make_uniform_edges(low, high, first_bins_));
    each_block_of_magnitudes(sample.values, [&](auto block) { count_uniform(block, uniform, counts_); });
    edges_.emplace(uniform, is_half_);
    return {};
  }

  Status count(const CleanSample& sample) {
    if (sample.values.empty()) return bad_data("histogram: a sample after the first is empty");
    if (sample.reach() > edge(bins())) QQ_RETURN_IF_ERROR(edges_->grow(sample.reach()));
    each_block_of_magnitudes(sample.values, [&](auto block) { count_between<double>(block, *edges_, counts_); });
    edges_->round_runs();
    return {};
  }

  int64_t first_bins_;
  bool is_half_;
  std::optional<EdgeList> edges_;
};

}  // namespace

std::unique_ptr<ValueHistogram> make_histogram_abs(int64_t bins, bool is_half) {
  return std::make_unique<HistogramAbs>(bins, is_half);
}

// Histogram B of ref:calibration#histogram-of-signed-values: signed values between -T and T; it grows by whole bins on
// both sides.

namespace {

class HistogramSigned final : public ValueHistogram {
 public:
  HistogramSigned(int64_t first_bins, bool is_half) : first_bins_(first_bins), is_half_(is_half) {}

  int64_t bins() const override { return edges_->bins; }
  float edge(int64_t i) const override { return (*edges_)(i); }

  Status add(const CleanSample& sample) override {
    if (sample.has_infinity()) return bad_data("histogram: a sample contains an infinity");
    const float reach = sample.reach();
    if (!edges_ || (reach > threshold_ && threshold_ == 0)) {
      QQ_RETURN_IF_ERROR(spread(reach, edges_ ? bins() : first_bins_));
    } else if (reach > threshold_) {
      QQ_RETURN_IF_ERROR(grow(reach));
    }
    count_uniform(sample.values, *edges_, counts_);
    widen(sample.extremes);
    return {};
  }

 private:
  float rounded(float x) const { return is_half_ ? rounded_to_half(x) : x; }

  /// New edges between -reach and reach; counts keep their places.
  Status spread(float reach, int64_t bins) {
    QQ_TRY(edges_, make_uniform_edges(-reach, reach, bins, is_half_));
    threshold_ = reach;
    return {};
  }

  /// floor(a / b) + 1 as NumPy's floor division of the tensor's type has it. REQUIRES: a >= 0, b > 0.
  float bins_over(float a, float b) const {
    const float quotient = rounded(rounded(a - std::fmod(a, b)) / b);
    float whole = std::floor(quotient);
    if (quotient - whole > 0.5f) whole += 1;
    return rounded(rounded(whole) + 1);
  }

  Status grow(float reach) {
    const float stride = rounded(rounded(2 * threshold_) / rounded(static_cast<float>(bins())));
    const float added = bins_over(rounded(reach - threshold_), stride);
    if (!(2 * static_cast<double>(added) <= static_cast<double>(kMaxBins - bins()))) {
      return bad_data("histogram: growing from ", threshold_, " to ", reach, " by bins of ", stride, " exceeds ",
                      kMaxBins, " bins");
    }
    const auto side = static_cast<int64_t>(added);
    const float reach_of_bins = rounded(rounded(added * stride) + threshold_);
    QQ_RETURN_IF_ERROR(spread(reach_of_bins, bins() + 2 * side));
    counts_.shift(side);
    return {};
  }

  int64_t first_bins_;
  bool is_half_;
  std::optional<UniformEdges<float>> edges_;
  float threshold_ = 0;  ///< T: zero while all values are, although the edges then are -0.5 and 0.5
};

}  // namespace

std::unique_ptr<ValueHistogram> make_histogram_signed(int64_t bins, bool is_half) {
  return std::make_unique<HistogramSigned>(bins, is_half);
}

}  // namespace quarkq::calib
