// SPDX-License-Identifier: MIT
// Clip as Relu in the quantized model (spec 04 A.7.7).
#pragma once

#include "passes/context.h"

namespace quarkq::passes {

/// Selected Clip nodes from 0 on become Relu; the upper limit is left to the range of the quantized output. Changes
/// the function where that range is wider.
Result<Changed> convert_clip_to_relu(PassContext& context);

}  // namespace quarkq::passes
