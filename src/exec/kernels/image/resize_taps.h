// SPDX-License-Identifier: MIT
// Conversion of the attributes of Resize to the input indices and weights of each output index of an axis. Formulas:
// ONNX operator documentation, Resize.
#pragma once

#include <cstdint>
#include <string>

#include "exec/kernels/shared/support.h"

namespace quarkq::exec {

enum class ResizeMode { kNearest, kLinear, kCubic };

/// How one Resize or Upsample interpolates.
struct ResizeRule {
  ResizeMode mode = ResizeMode::kNearest;
  std::string coordinates = "half_pixel";  ///< coordinate_transformation_mode
  std::string nearest =
      "round_prefer_floor";  ///< nearest_mode; "simple": floor, or ceil where an axis shrinks (opset 10)
  float cubic_a = -0.75f;
  bool exclude_outside = false;
  bool antialias = false;
};

/// One resized axis.
struct ResizeAxis {
  int64_t in = 1, out = 1;
  float scale = 1;
  float roi_start = 0, roi_end = 1;  ///< Only for tf_crop_and_resize.
};

/// `width` taps per output index, weighted unless they copy; outside[i] marks output indices that tf_crop_and_resize
/// extrapolates.
struct AxisTaps {
  int64_t width = 1;
  std::vector<int64_t> index;
  std::vector<float> weight;
  std::vector<bool> outside;
  bool identity = true;
  int64_t out() const { return static_cast<int64_t>(index.size()) / width; }
};

/// Reads mode, coordinate_transformation_mode, ... and rejects unknown values.
Result<ResizeRule> resize_rule(const Prepare& p);
AxisTaps make_taps(const ResizeRule& rule, const ResizeAxis& axis);

/// Returns a kernel that interpolates float32 along all axes whose taps are not the identity. Sets `scratch` to the
/// bytes it needs.
Kernel interpolate_kernel(const ir::Shape& dims, std::vector<AxisTaps> taps, float outside, size_t& scratch);

// resize.cpp
Result<Kernel> prepare_depth_to_space(Prepare& p);
Result<Kernel> prepare_space_to_depth(Prepare& p);

}  // namespace quarkq::exec
