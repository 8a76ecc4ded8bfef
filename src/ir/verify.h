// SPDX-License-Identifier: MIT
// The invariants of ir::Graph, for the runner, which asks after every pass, and for tests. A violation is our own bug,
// never a file's.
#pragma once

#include "ir/graph.h"

namespace quarkq::ir {

/// kInternal, naming node or value, when links disagree, names clash, lists and flags differ, the order is no
/// permutation of the live nodes, something is read that nothing defines, or a nested graph reads what its node
/// does not capture.
Status verify(const Graph& graph);

}  // namespace quarkq::ir
