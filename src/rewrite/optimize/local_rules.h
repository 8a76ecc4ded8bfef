// SPDX-License-Identifier: MIT
// Rules that look at one node and its only reader. Each answers whether it changed something.
#pragma once

#include "rewrite/optimize/workspace.h"

namespace quarkq::rewrite::basic {

/// Identity, Dropout and Cast to the type that is there already: readers read the input.
bool bypass_no_op(Workspace& work, ir::NodeId node);
/// Relu in front of a Clip becomes its lower limit.
bool fold_relu_into_clip(Workspace& work, ir::NodeId node);
/// Pad in front of a Conv or a pool becomes its padding.
bool fold_pad(Workspace& work, ir::NodeId node);
/// BatchNormalization, Mul and Add behind a Conv go into its weight and bias.
bool fold_into_conv(Workspace& work, ir::NodeId node);

}  // namespace quarkq::rewrite::basic
