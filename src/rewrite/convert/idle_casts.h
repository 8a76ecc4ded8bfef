// SPDX-License-Identifier: MIT
// Casts that are left with nothing to do when the type around them changes.
#pragma once

#include "ir/graph.h"

namespace quarkq::rewrite {

/// Removes Casts to the type that their input has. One between a graph's input or stored value and its output stays.
void remove_idle_casts(ir::Graph& graph);

}  // namespace quarkq::rewrite
