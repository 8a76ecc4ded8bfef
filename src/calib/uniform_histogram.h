// SPDX-License-Identifier: MIT
// NumPy's histogram primitives (ref:calibration#numpy-primitives): equally spaced edges, and counting between edges by
// formula or by comparison. Edges are computed on demand, so that they need no memory in a histogram with many bins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "numeric/element_type.h"

namespace quarkq::calib {

// NumPy's float32 sum: blocks of at most 128 terms with eight accumulators, halves above
// (ref:calibration#numpy-primitives).

/// Returns the sum of term(begin) .. term(begin + count - 1).
template <typename Term>
float pairwise_sum(int64_t begin, int64_t count, const Term& term) {
  if (count < 8) {
    float sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += term(begin + i);
    return sum;
  }
  if (count > 128) {
    const int64_t half = count / 2 - count / 2 % 8;
    return pairwise_sum(begin, half, term) + pairwise_sum(begin + half, count - half, term);
  }
  float sums[8];
  const int64_t whole = count - count % 8;
  for (int64_t lane = 0; lane < 8; ++lane) sums[lane] = term(begin + lane);
  for (int64_t i = 8; i < whole; i += 8) {
    for (int64_t lane = 0; lane < 8; ++lane) sums[lane] += term(begin + i + lane);
  }
  float sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  for (int64_t i = whole; i < count; ++i) sum += term(begin + i);
  return sum;
}

/// BinCounts: the counts of a histogram whose number of bins one outlier can multiply by a million. Only pages with a
/// count need memory, so the number of values bounds the memory, not the number of bins.
class BinCounts {
 public:
  /// REQUIRES: bin >= 0.
  void add(int64_t bin) {
    const auto place = static_cast<size_t>(bin + base_);
    if (place / kPage >= pages_.size() || pages_[place / kPage].empty()) make_page(place / kPage);
    ++pages_[place / kPage][place % kPage];
    ++total_;
  }
  /// Moves every count up by `bins` bins. REQUIRES: bins >= 0.
  void shift(int64_t bins);
  int64_t total() const { return total_; }
  int64_t at(int64_t bin) const;

  /// Calls visit(bin, count) for each count above zero, in order of bins, until it returns false.
  template <typename Visit>
  void visit(Visit visit) const {
    for (size_t page = 0; page < pages_.size(); ++page) {
      for (size_t i = 0; i < pages_[page].size(); ++i) {
        const int64_t count = pages_[page][i];
        if (count > 0 && !visit(static_cast<int64_t>(page * kPage + i) - base_, count)) return;
      }
    }
  }

 private:
  static constexpr size_t kPage = 4096;
  void make_page(size_t page);

  std::vector<std::vector<int64_t>> pages_;  ///< An empty page contains zeros.
  int64_t base_ = 0;                         ///< Position of bin 0.
  int64_t total_ = 0;
};

inline float rounded_to_half(float x) { return float_from_float16(float16_from_float(x)); }

/// Upper bound on bins; more correspond to the reference's out-of-memory error.
constexpr int64_t kMaxBins = int64_t{1} << 31;

/// Edges 0..bins from `first` to `last`, each operation rounded to Real, or to float16 when `half`.
template <typename Real>
struct UniformEdges {
  Real first = 0, last = 1, step = 1;
  int64_t bins = 1;
  bool half = false;

  Real rounded(Real x) const {
    if constexpr (std::is_same_v<Real, float>) return half ? rounded_to_half(x) : x;
    return x;
  }
  Real operator()(int64_t i) const {
    return i == bins ? last : rounded(rounded(rounded(static_cast<Real>(i)) * step) + first);
  }
  /// Returns the approximate position of `x` within [0, bins).
  int64_t guess(Real x) const {
    const Real position = (x - first) / step;
    return position >= static_cast<Real>(bins) ? bins - 1 : position > 0 ? static_cast<int64_t>(position) : 0;
  }
};

/// Returns U(first, last, bins) of ref:calibration#numpy-primitives. An empty range is widened by one half to both
/// sides. Fails if an end is not finite or the bins are too narrow for Real.
template <typename Real>
Result<UniformEdges<Real>> make_uniform_edges(Real first, Real last, int64_t bins, bool half = false);

/// HU: adds each value within the edges to the bin that the formula selects. The edges come from make_uniform_edges().
template <typename Real>
void count_uniform(std::span<const float> values, const UniformEdges<Real>& edges, BinCounts& counts);

/// Returns i with edges(i) <= x < edges(i + 1), searched from `guess` on. REQUIRES: nondecreasing edges, edges(0) <= x
/// < edges(edges.bins), 0 <= guess < edges.bins.
template <typename Edges, typename Real>
int64_t bin_between(const Edges& edges, Real x, int64_t guess) {
  if (edges(guess) <= x && x < edges(guess + 1)) return guess;
  int64_t low = 0, high = edges.bins;  // edges(low) <= x < edges(high)
  for (const int64_t near : {guess - 1, guess, guess + 1, guess + 2}) {
    if (near <= low || near >= high) continue;
    (edges(near) <= x ? low : high) = near;
  }
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (edges(middle) <= x ? low : high) = middle;
  }
  return low;
}

/// HE: adds each value to the bin whose edges enclose it. The last bin is closed; values outside are dropped.
template <typename Real, typename Edges>
void count_between(std::span<const float> values, const Edges& edges, BinCounts& counts) {
  const Real first = edges(0), last = edges(edges.bins);
  for (const float value : values) {
    const Real x = value;
    if (x < first || x > last) continue;
    counts.add(x == last ? edges.bins - 1 : bin_between(edges, x, edges.guess(x)));
  }
}

}  // namespace quarkq::calib
