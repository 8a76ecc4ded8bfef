// SPDX-License-Identifier: MIT
// NumPy's histogram primitives (ref:calibration#numpy-primitives): equally spaced edges, and counting between edges by
// formula or by comparison. Edges are computed when asked for, so that a histogram of many bins costs no memory for
// them.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "base/error.h"
#include "calib/bin_counts.h"
#include "numeric/half.h"

namespace quarkq::calib {

inline float rounded_to_half(float x) { return float_from_float16(float16_from_float(x)); }

/// More bins than this count as the reference's out-of-memory error.
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
  /// About where `x` lies, within [0, bins).
  int64_t guess(Real x) const {
    const Real position = (x - first) / step;
    return position >= static_cast<Real>(bins) ? bins - 1 : position > 0 ? static_cast<int64_t>(position) : 0;
  }
};

/// U(first, last, bins) of ref:calibration#numpy-primitives. An empty range is widened by one half to both sides. Fails
/// when an end is not finite or the bins are too narrow for Real.
template <typename Real>
Result<UniformEdges<Real>> make_uniform_edges(Real first, Real last, int64_t bins, bool half = false);

/// HU: adds each value within the edges to the bin that the formula finds. The edges are those that
/// make_uniform_edges() makes.
template <typename Real>
void count_uniform(std::span<const float> values, const UniformEdges<Real>& edges, BinCounts& counts);

/// The i with edges(i) <= x < edges(i + 1), sought from `guess` on.
/// REQUIRES: nondecreasing edges, edges(0) <= x < edges(edges.bins), 0 <= guess < edges.bins.
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

/// HE: adds each value to the bin between whose edges it lies; the last bin is closed, values outside are dropped.
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
