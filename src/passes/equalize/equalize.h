// SPDX-License-Identifier: MIT
// The passes of cross-layer equalization (spec 04 B), in the order they run. Float weights change, the function does
// not, except where a Clip becomes a Relu.
#pragma once

#include "passes/context.h"

namespace quarkq::passes {

/// A stem Conv in front of many BatchNormalizations gets channels of like range (B.10).
Result<Changed> equalize_stem(PassContext& context);
/// Clip(0, 6) becomes Relu, which equalization can step through (B.9). Changes the function above 6.
Result<Changed> replace_clip6_relu(PassContext& context);
/// Weight ranges of neighbouring layers are evened out channel by channel (B.2 to B.8).
Result<Changed> cross_layer_equalization(PassContext& context);

}  // namespace quarkq::passes
