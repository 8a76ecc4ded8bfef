// SPDX-License-Identifier: MIT
// Nodes that compute in another float type, with Casts where they meet those that do not.
#pragma once

#include "pass/conversion.h"

namespace quarkq::rewrite {

struct FloatChange {
  ElementType from = ElementType::kFloat, to = ElementType::kFloat16;
};

/// Options `subgraphs` (chosen_nodes.h), `keep_io` (inputs and outputs of the graph keep their type) and `weights_only`
/// (stored tensors in the new type with a Cast after them, nodes compute as before). Returns the number of nodes, or of
/// stored tensors, that changed. Nodes whose operator does not take the type are left; Q/DQ nodes and nodes of other
/// domains stay as they are.
Result<size_t> change_float_type(pass::ConvertContext& context, FloatChange change);

}  // namespace quarkq::rewrite
