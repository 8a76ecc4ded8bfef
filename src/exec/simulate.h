// SPDX-License-Identifier: MIT
// Running a plan without writing it: verification, analysis and tuning try plans this way.
#pragma once

#include <memory>

#include "ir/graph.h"
#include "plan/quant_plan.h"

namespace quarkq::exec {

// Graphs in float16 are computed in float32 throughout (ADR 0005): values are rounded where the graph's inputs, outputs
// and Cast nodes say so, and nowhere between.

/// A copy of `graph` in which float16 constants are float32, with Cast nodes after its float16 inputs, before its
/// float16 outputs and after every node with float16 as its output type. Codes of com.amd.quark stay float16: values
/// are rounded to them on purpose. Ids of `graph` stay valid: the inputs and outputs keep theirs with their type, every
/// other float16 value keeps its id and is float32. Null when `graph` has no float16.
std::unique_ptr<const ir::Graph> with_half_as_float(const ir::Graph& graph);

/// The model that a Session runs in place of the written one: the float model with a FakeQuantize where the plan has a
/// pair, and stored constants as the values they stand for. Outputs are those of the written model bit for bit (before
/// phase legalize). Nodes and values keep their ids; a node's input is the value after its stages, so
/// `result.graph.node(id).input(i)` is the value that the node reads. Weights are shared, nothing is computed yet.
Result<ir::Model> simulate(const ir::Model& model, const plan::QuantPlan& plan);

}  // namespace quarkq::exec
