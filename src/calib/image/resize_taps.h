// SPDX-License-Identifier: MIT
// Which input pixels make an output pixel along one axis, and with what weight.
#pragma once

#include <cstdint>
#include <vector>

#include "calib/image/resize_image.h"

namespace quarkq::calib {

/// Output pixel i is the sum over t < count[i] of weights[i * stride + t] times input pixel first[i] + t. The weights
/// of a pixel sum to 1.
struct Taps {
  std::vector<int32_t> first, count;
  int64_t stride = 0;
  std::vector<double> weights;
};

/// The taps of `out` pixels made from `in`. REQUIRES: in, out >= 1; bilinear or bicubic.
Taps make_taps(int64_t in, int64_t out, const Resampling& resampling);

/// The input pixel that each of `out` pixels copies (interpolation "nearest").
std::vector<int64_t> nearest_pixels(int64_t in, int64_t out, bool antialias);

}  // namespace quarkq::calib
