// SPDX-License-Identifier: MIT
// How far the values of a tensor lie from a quantization grid, from its bins.
#pragma once

#include "calib/value_statistics.h"

namespace quarkq::calib {

struct GridError {
  double absolute = 0;  ///< sum over all values of |value - nearest step|
  double squared = 0;   ///< sum of the squares
};

/// A bin's values count as its middle while bins are finer than the grid. Where the grid is finer (16 bits), the middle
/// of every bin is a grid point, which would hide all rounding: there the values count as spread evenly, with a mean
/// error of scale / 4 and a mean square of scale^2 / 12. REQUIRES: scale > 0.
GridError grid_error(const std::vector<WeightedValue>& values, numeric::IntegerRange limits, int32_t zero_point,
                     float scale);

}  // namespace quarkq::calib
