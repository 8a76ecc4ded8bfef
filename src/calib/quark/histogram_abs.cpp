// SPDX-License-Identifier: MIT
// Histogram A of ref:calibration#histogram-of-magnitudes: magnitudes. Its flaws are kept: values below the first
// sample's least magnitude are dropped, and so is an outlier that the rounded step of the appended edges falls short
// of.
#include <algorithm>
#include <cmath>
#include <optional>

#include "calib/quark/edge_list.h"
#include "calib/quark/value_histogram.h"

namespace quarkq::calib {
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
    if (sample.has_infinity()) return bad_data("histogram: a sample holds an infinity");
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

}  // namespace quarkq::calib
