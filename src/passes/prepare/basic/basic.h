// SPDX-License-Identifier: MIT
// What ONNX Runtime's optimizer of level "basic" does to a graph (spec 04 A.6), names and node order included.
#pragma once

#include "passes/context.h"

namespace quarkq::passes {

/// All or nothing: a graph in which nothing is found stays as it is; else every node gets its default attributes
/// written out and the nodes are put into another order.
Result<Changed> optimize_basic(PassContext& context);

}  // namespace quarkq::passes
