// SPDX-License-Identifier: MIT
#include "calib/quark/sanitize.h"

#include "calib/observe_loops.h"
#include "calib/uniform_histogram.h"

namespace quarkq::calib {
namespace {

numeric::Range extremes_of(std::span<const float> values) {
  if (values.empty()) return {};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {*least, *most};
}

}  // namespace

CleanSample clean_sample(std::span<const float> values, SampleCache cache) {
  const Extremes found = QQ_DISPATCH(calib, find_extremes)(values.data(), static_cast<int64_t>(values.size()));
  CleanSample sample{values, {}, {}};
  if (found.not_finite == 0 && cache == SampleCache::kNone) {
    if (found.finite > 0) sample.extremes = {found.min, found.max};
    return sample;
  }
  sample.repaired.assign(values.begin(), values.end());
  for (float& x : sample.repaired) {
    if (std::isnan(x) || found.finite == 0) x = 0;
    if (cache == SampleCache::kHalf) x = rounded_to_half(x);
  }
  sample.values = sample.repaired;
  sample.extremes = extremes_of(sample.values);
  return sample;
}

}  // namespace quarkq::calib
