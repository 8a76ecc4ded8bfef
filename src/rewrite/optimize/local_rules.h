// SPDX-License-Identifier: MIT
// Rules for one node and its only reader.
#pragma once

#include "rewrite/optimize/workspace.h"

namespace quarkq::rewrite::basic {

/// Identity, Dropout and Cast to the type that is there already: readers read the input.
Proposal bypass_no_op(Workspace& work, const ir::Node& node);
/// 1 / x times y becomes y / x.
Proposal fold_product_into_reciprocal(Workspace& work, const ir::Node& node);
/// Relu in front of a Clip becomes its lower limit.
Proposal fold_relu_into_clip(Workspace& work, const ir::Node& node);
/// Pad in front of a Conv or a pool becomes its padding.
Proposal fold_pad(Workspace& work, const ir::Node& node);
/// Folds BatchNormalization, Mul and Add after a Conv into its weight and bias.
Proposal fold_into_conv(Workspace& work, const ir::Node& node);

}  // namespace quarkq::rewrite::basic
