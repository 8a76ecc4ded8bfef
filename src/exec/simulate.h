// SPDX-License-Identifier: MIT
// Running of a plan without writing it: used by verification, analysis and tuning.
#pragma once

#include <memory>

#include "ir/graph.h"
#include "plan/quant_plan.h"

namespace quarkq::exec {

// Graphs in float16 are computed in float32 throughout (ADR 0005): values are rounded only at the graph's inputs and
// outputs and at Cast nodes.

/// Returns a copy of `graph` in which float16 constants are float32, with Cast nodes after its float16 inputs, before
/// its float16 outputs and after every node with float16 as its output type. Codes of com.amd.quark stay float16,
/// because values are rounded to them on purpose. Ids of `graph` stay valid: inputs and outputs keep their type, every
/// other float16 value keeps its id and becomes float32. Returns null if `graph` has no float16.
std::unique_ptr<const ir::Graph> with_half_as_float(const ir::Graph& graph);

/// Returns the model that a Session runs instead of the written model: the float model with one FakeQuantize node per
/// pair of the plan, and with dequantized stored constants. Its outputs equal the written model's bit for bit (before
/// phase legalize). Nodes and values keep their ids. A node's input is the value after its stages, so
/// `result.graph.node(id).input(i)` is the value that the node reads. Weights are shared; nothing is computed yet.
Result<ir::Model> simulate(const ir::Model& model, const plan::QuantPlan& plan);

}  // namespace quarkq::exec
