// SPDX-License-Identifier: MIT
// Histogram C of ref:calibration#power-of-two-minmse, for MinMSE: between the extremes, in double; it grows by whole
// bins on the side exceeded.
#pragma once

#include <optional>
#include <span>

#include "calib/uniform_histogram.h"
#include "numeric/range_to_params.h"

namespace quarkq::calib {

class HistogramPow2 {
 public:
  explicit HistogramPow2(int64_t first_bins) : first_bins_(first_bins) {}

  /// Adds a sample's tensor. Infinities beside finite values count as the largest float. Fails for an empty sample, and
  /// when the bins become too narrow or too many.
  Status add(std::span<const float> values);

  const BinCounts& counts() const { return counts_; }
  int64_t bins() const { return edges_->bins; }
  /// REQUIRES: a sample was added, 0 <= i <= bins().
  double edge(int64_t i) const { return (*edges_)(i); }
  const numeric::Range& seen() const { return seen_; }
  bool has_sample() const { return edges_.has_value(); }

 private:
  Status grow(const numeric::Range& extremes);

  int64_t first_bins_;
  std::optional<UniformEdges<double>> edges_;
  BinCounts counts_;
  numeric::Range seen_;
};

}  // namespace quarkq::calib
