// SPDX-License-Identifier: MIT
// EdgeList: the edges of histogram A. Equally spaced ones, then for each sample that exceeded them a run that NumPy's
// arange made: in double, from two float32 numbers. The runs are kept as formulas.
#pragma once

#include <vector>

#include "calib/uniform_histogram.h"

namespace quarkq::calib {

class EdgeList {
 public:
  EdgeList(const UniformEdges<float>& start, bool half) : bins(start.bins), start_(start), half_(half) {}

  /// Edge i in the order of edges, 0 <= i <= bins. A run just appended is exact until round_runs().
  double operator()(int64_t i) const;
  /// About where `x` lies, within [0, bins).
  int64_t guess(double x) const;

  /// Appends edges as wide as the first bin until `largest` is about reached. Rounding may leave it outside. Fails when
  /// that takes too many.
  Status grow(float largest);
  /// Rounds the last run to the tensor's type, as the reference stores it.
  void round_runs();

  int64_t bins;

 private:
  struct Run {
    int64_t index;       ///< of its first edge
    double first, step;  ///< edge index + i is first + i * step
    bool rounded;
  };
  float rounded(float x) const { return half_ ? rounded_to_half(x) : x; }

  UniformEdges<float> start_;
  bool half_;
  std::vector<Run> runs_;
};

}  // namespace quarkq::calib
