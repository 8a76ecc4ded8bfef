// SPDX-License-Identifier: MIT
// Rules for one node and its only reader.
#pragma once

#include "rewrite/optimize/workspace.h"

namespace quarkq::rewrite::basic {

/// Redirects readers of Identity, Dropout and a Cast to the existing type to the input.
Proposal bypass_no_op(Workspace& work, const ir::Node& node);
/// Replaces 1 / x times y by y / x.
Proposal fold_product_into_reciprocal(Workspace& work, const ir::Node& node);
/// Merges a Relu before a Clip into its lower limit.
Proposal fold_relu_into_clip(Workspace& work, const ir::Node& node);
/// Merges a Pad before a Conv or a pool into its padding.
Proposal fold_pad(Workspace& work, const ir::Node& node);
/// Folds BatchNormalization, Mul and Add after a Conv into its weight and bias.
Proposal fold_into_conv(Workspace& work, const ir::Node& node);

}  // namespace quarkq::rewrite::basic
