// SPDX-License-Identifier: MIT
// Graphs in float16 are computed in float32 throughout (ADR 0005): values are rounded where the graph's inputs, outputs
// and Cast nodes say so, and nowhere between.
#pragma once

#include <memory>

#include "ir/graph.h"

namespace quarkq::exec {

/// A copy of `graph` in which float16 constants are float32, with Cast nodes after its float16 inputs, before its
/// float16 outputs and after every node with float16 as its output type. Codes of com.amd.quark stay float16: values
/// are rounded to them on purpose. Ids of `graph` stay valid: the inputs and outputs keep theirs with their type, every
/// other float16 value keeps its id and is float32. Null when `graph` has no float16.
std::unique_ptr<const ir::Graph> with_half_as_float(const ir::Graph& graph);

}  // namespace quarkq::exec
