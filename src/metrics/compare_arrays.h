// SPDX-License-Identifier: MIT
// Two arrays: every metric of evaluate(), and sums for aggregates.
#pragma once

#include <string>
#include <vector>

#include "ir/tensor.h"
#include "numeric/metrics.h"
#include "quarkq/evaluate.h"

namespace quarkq::metrics {

/// Two arrays of one shape as doubles.
struct ArrayPair {
  std::vector<double> baseline, quantized;
  ir::Shape dims;
  bool is_choice = false;  ///< of the baseline: PairMetrics::is_choice
};
/// The names are what messages call the arrays. Fails with kBadData when shapes differ or there are no values, and when
/// an array holds no numbers.
Result<ArrayPair> pair_arrays(const ir::Tensor& baseline, const std::string& baseline_name, const ir::Tensor& quantized,
                              const std::string& quantized_name);

struct Comparison {
  PairMetrics metrics;     ///< without a name
  numeric::PairSums sums;  ///< compat: of the values as float32
};
/// `compat`: the reference's definitions; changes the values of `arrays` to float32.
Comparison compare_arrays(ArrayPair& arrays, bool compat);

/// Fills in the eight aggregates. REQUIRES: there are pairs.
void aggregate(EvaluateReport& report, bool compat);

}  // namespace quarkq::metrics
