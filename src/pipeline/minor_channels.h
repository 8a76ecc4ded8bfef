// SPDX-License-Identifier: MIT
// Outputs that hold values of two magnitudes, as detectors that write boxes in pixels beside scores: the large ones
// dominate every sum over the output and hide errors of the small ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace quarkq::pipeline {

/// The channels of small magnitude of an output.
struct MinorChannels {
  int64_t axis = 0;
  std::vector<bool> is_minor;  ///< by index of that axis

  /// Their values, in order. REQUIRES: `values` has dimensions like those that the channels were found in.
  std::vector<double> of(const std::vector<double>& values, const ir::Shape& dims) const;
};

/// Nothing when the channels are of like magnitude, as in most outputs. `samples`: values by sample, all of dimensions
/// `dims`.
std::optional<MinorChannels> find_minor_channels(const std::vector<std::vector<double>>& samples,
                                                 const ir::Shape& dims);

}  // namespace quarkq::pipeline
