// SPDX-License-Identifier: MIT
#include "calib/uniform_histogram.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace quarkq::calib {

void BinCounts::make_page(size_t page) {
  if (page >= pages_.size()) pages_.resize(page + 1);
  pages_[page].resize(kPage);
}

void BinCounts::shift(int64_t bins) {
  base_ -= bins;  // places stay, bins are renamed
  if (base_ >= 0) return;
  const auto page = static_cast<int64_t>(kPage);
  const int64_t added = (-base_ + page - 1) / page;
  std::vector<std::vector<int64_t>> pages(static_cast<size_t>(added));
  for (std::vector<int64_t>& old : pages_) pages.push_back(std::move(old));
  pages_ = std::move(pages);
  base_ += added * page;
}

int64_t BinCounts::at(int64_t bin) const {
  const int64_t place = bin + base_;
  if (place < 0) return 0;
  const size_t page = static_cast<size_t>(place) / kPage;
  if (page >= pages_.size() || pages_[page].empty()) return 0;
  return pages_[page][static_cast<size_t>(place) % kPage];
}

namespace {

/// The bins that the formula names for a block of values; values outside get some bin.
template <typename Real>
void find_bins(const float* values, int64_t count, const UniformEdges<Real>& edges, int64_t* found) {
  const Real width = edges.rounded(edges.last - edges.first), bins = edges.rounded(static_cast<Real>(edges.bins));
  const auto last = static_cast<Real>(edges.bins - 1);
  for (int64_t i = 0; i < count; ++i) {
    const Real distance = edges.rounded(static_cast<Real>(values[i]) - edges.first);
    Real place = edges.rounded(edges.rounded(distance / width) * bins);
    place = place > 0 ? place : 0;  // also where infinity / infinity is NaN
    found[i] = static_cast<int64_t>(std::min(place, last));
  }
}

}  // namespace

template <typename Real>
Result<UniformEdges<Real>> make_uniform_edges(Real first, Real last, int64_t bins, bool half) {
  if (bins < 1 || bins > kMaxBins) return bad_data("histogram: ", bins, " bins, allowed are 1 to ", kMaxBins);
  UniformEdges<Real> edges{first, last, 0, bins, half};
  if (first == last) {
    edges.first = edges.rounded(first - Real(0.5));
    edges.last = edges.rounded(last + Real(0.5));
  }
  const Real width = edges.rounded(edges.last - edges.first);
  if (!std::isfinite(first) || !std::isfinite(last) || !std::isfinite(width)) {
    return bad_data("histogram: range [", first, ", ", last, "] is not finite");
  }
  edges.step = edges.rounded(width / edges.rounded(static_cast<Real>(bins)));
  Real left = edges(0);
  for (int64_t i = 1; i <= bins; ++i) {
    const Real right = edges(i);
    if (!(left < right)) {
      return bad_data("histogram: range [", first, ", ", last, "] is too narrow for ", bins, " bins");
    }
    left = right;
  }
  return edges;
}

template <typename Real>
void count_uniform(std::span<const float> values, const UniformEdges<Real>& edges, BinCounts& counts) {
  constexpr int64_t kBlock = 512;
  int64_t found[kBlock];
  const auto count = static_cast<int64_t>(values.size());
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t size = std::min(kBlock, count - begin);
    find_bins(values.data() + begin, size, edges, found);
    for (int64_t i = 0; i < size; ++i) {
      const Real x = values[static_cast<size_t>(begin + i)];
      if (x < edges.first || x > edges.last) continue;
      int64_t bin = found[i];
      if (x < edges(bin)) {
        --bin;
      } else if (bin != edges.bins - 1 && x >= edges(bin + 1)) {
        ++bin;
      }
      counts.add(bin);
    }
  }
}

template Result<UniformEdges<float>> make_uniform_edges(float, float, int64_t, bool);
template Result<UniformEdges<double>> make_uniform_edges(double, double, int64_t, bool);
template void count_uniform(std::span<const float>, const UniformEdges<float>&, BinCounts&);
template void count_uniform(std::span<const float>, const UniformEdges<double>&, BinCounts&);

}  // namespace quarkq::calib
