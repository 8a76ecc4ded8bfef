// SPDX-License-Identifier: MIT
// A part of a tensor's values that stands for all of them.
#pragma once

#include <span>
#include <vector>

namespace quarkq::pipeline {

/// All values of small tensors, of others an even part in order. An odd stride meets all channels of an even number.
inline std::vector<float> thinned(std::span<const float> values) {
  constexpr size_t kKept = 8192;  // bounds memory; ratios in decibels are exact to 0.1
  const size_t stride = values.size() <= kKept ? 1 : values.size() / kKept | 1;
  std::vector<float> kept;
  for (size_t i = 0; i < values.size(); i += stride) kept.push_back(values[i]);
  return kept;
}

}  // namespace quarkq::pipeline
