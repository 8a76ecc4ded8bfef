// SPDX-License-Identifier: MIT
// Scale and zero point that a candidate range is scored with, and MinMSE's candidate scales
// (ref:calibration#layerwise-percentile, ref:calibration#power-of-two-minmse).
#pragma once

#include <array>
#include <span>

#include "numeric/range_to_params.h"

namespace quarkq::calib {

/// params_for_range(), with the steps of a float16 range taken in float16 (ref:scales#float-scales): the width is
/// rounded to it and scales below its smallest normal number become 1.
Result<numeric::QuantParams> scoring_params(const numeric::QuantSpec& spec, numeric::Range range, bool is_half);

/// The spec that MinMSE searches powers of two for: full or symmetric limits of an 8, 16 or 32 bit integer, else of
/// INT8.
numeric::QuantSpec minmse_spec(const numeric::QuantSpec& activation, bool symmetric_range);

/// 2p, p, p/2, p/4, p/8 around the power of two p nearest to the range's scale, all with the range's zero point.
using PowerCandidates = std::array<numeric::QuantParams, 5>;
Result<PowerCandidates> power_candidates(const numeric::QuantSpec& spec, numeric::Range range, bool is_half);

/// Squared error of storing `values` with `params`, in float32 as NumPy sums it. Signed types never take their least
/// value.
float squared_error(std::span<const float> values, const numeric::QuantSpec& spec, const numeric::QuantParams& params);

/// The first of the least: ties go to the larger scale.
template <typename Error>
size_t index_of_least(const std::array<Error, 5>& errors) {
  size_t best = 0;
  for (size_t i = 1; i < errors.size(); ++i) {
    if (errors[i] < errors[best]) best = i;
  }
  return best;
}

}  // namespace quarkq::calib
