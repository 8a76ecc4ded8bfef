// SPDX-License-Identifier: MIT
// Float scales of weights with the smallest squared error (ExtendedCalibrationMethod.MinMSE,
// ref:scales#weights-by-squared-error).
#pragma once

#include <span>
#include <string>

#include "numeric/quant_params.h"

namespace quarkq::calib {

enum class WeightMseMode {
  kPercentile,  ///< the ranges that four percentiles keep, scored on all values
  kHistCenter,  ///< ranges about the middle of a histogram, scored on its bins
  kAll,         ///< the same ranges, scored on all values
};

struct WeightMseResult {
  numeric::Range range;
  numeric::QuantParams params;
};

/// `values`: one tensor's or channel's, finite. `limits`: what the stored integers are clipped to. The scale kind of
/// `spec` does not count. No values: the parameters of an empty range.
Result<WeightMseResult> search_weight_mse(std::span<const float> values, numeric::QuantSpec spec,
                                          numeric::IntegerRange limits, WeightMseMode mode);

}  // namespace quarkq::calib
