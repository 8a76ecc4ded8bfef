// SPDX-License-Identifier: MIT
// What the reference does to a fetched tensor before a histogram or MinMSE sees it (ref:calibration#non-finite-values),
// and its caching of samples as float16.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "numeric/range_to_params.h"

namespace quarkq::calib {

/// One sample's tensor without NaN, and its extremes; zeros when it is empty.
struct CleanSample {
  std::span<const float> values;  ///< the tensor itself when nothing had to be changed, else `repaired`
  numeric::Range extremes;
  std::vector<float> repaired;

  bool has_infinity() const { return std::isinf(extremes.min) || std::isinf(extremes.max); }
  /// Largest magnitude.
  float reach() const { return std::max(std::abs(extremes.min), std::abs(extremes.max)); }
};

enum class SampleCache { kNone, kHalf };

/// NaN becomes 0, and everything does when no value is finite. Infinities beside a finite value stay: the reference
/// means to replace them by the largest value, which is the infinity itself.
/// kHalf then rounds to float16, where magnitudes of 65520 and more become infinite.
CleanSample clean_sample(std::span<const float> values, SampleCache cache = SampleCache::kNone);

}  // namespace quarkq::calib
