// SPDX-License-Identifier: MIT
// A part of a tensor's values that stands for all of them.
#pragma once

#include <span>
#include <vector>

namespace quarkq::calib {

/// From one value that is kept to the next: 1 for small tensors. An odd stride meets all channels of an even number.
inline size_t thinning_stride(size_t count) {
  constexpr size_t kKept = 8192;  // bounds memory; ratios in decibels are exact to 0.1
  return count <= kKept ? 1 : count / kKept | 1;
}

/// All values of small tensors, of others an even part in order.
inline std::vector<float> thinned(std::span<const float> values) {
  const size_t stride = thinning_stride(values.size());
  std::vector<float> kept;
  for (size_t i = 0; i < values.size(); i += stride) kept.push_back(values[i]);
  return kept;
}

}  // namespace quarkq::calib
