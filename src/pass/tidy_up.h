// SPDX-License-Identifier: MIT
// What passes end with. tidy_up: each fusion and conversion of ref:rewrites#fusions, ref:rewrites#hardware-conversions,
// also when it changed nothing, because later passes depend on the order this leaves.
#pragma once

#include "pass/context.h"

namespace quarkq::pass {

/// Types of all values as the onnx library tells them. kYes when one of them is new.
Result<Changed> infer_types_again(ir::Model& model, Diagnostics& diagnostics);

/// Removes initializers that nothing reads and sorts the nodes. kYes when that or the caller changed something.
Result<Changed> tidy_up(ir::Graph& graph, Changed so_far);

}  // namespace quarkq::pass
