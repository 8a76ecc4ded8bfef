// SPDX-License-Identifier: MIT
// Float scales of weights with the smallest squared error (ExtendedCalibrationMethod.MinMSE,
// ref:scales#weights-by-squared-error).
#pragma once

#include <span>
#include <string>

#include "numeric/quant_params.h"

namespace quarkq::calib {

enum class WeightMseMode {
  kPercentile,  ///< Ranges that four percentiles select, scored on all values.
  kHistCenter,  ///< Ranges around the centre of a histogram, scored on its bins.
  kAll,         ///< Ranges around the centre of a histogram, scored on all values.
};

struct WeightMseResult {
  numeric::Range range;
  numeric::QuantParams params;
};

/// `values` are the finite values of one tensor or channel. `limits` are the limits of the stored integers. Ignores the
/// scale kind of `spec`. Without values, returns the parameters of an empty range.
Result<WeightMseResult> search_weight_mse(std::span<const float> values, numeric::QuantSpec spec,
                                          numeric::IntegerRange limits, WeightMseMode mode);

}  // namespace quarkq::calib
