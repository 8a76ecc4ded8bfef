// SPDX-License-Identifier: MIT
// Private to the resize family.
#pragma once

#include "exec/kernels/image/resize_taps.h"

namespace quarkq::exec {

/// Kernel that interpolates float32 along all axes with taps that are no identity; `scratch` gets the bytes it needs.
Kernel interpolate_kernel(const ir::Shape& dims, std::vector<AxisTaps> taps, float outside, size_t& scratch);

// resize_blocks.cpp
Result<Kernel> prepare_depth_to_space(Prepare& p);
Result<Kernel> prepare_space_to_depth(Prepare& p);

}  // namespace quarkq::exec
