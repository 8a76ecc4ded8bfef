// SPDX-License-Identifier: MIT
// Running a plan without writing it: verification, analysis and tuning try plans this way.
#pragma once

#include "ir/graph.h"
#include "plan/quant_plan.h"

namespace quarkq::exec {

/// The model that a Session runs in place of the written one: the float model with a FakeQuantize where the plan has a
/// pair, and stored constants as the values they stand for. Outputs are those of the written model bit for bit (before
/// phase legalize). Nodes and values keep their ids; a node's input is the value after its stages, so
/// `result.graph.node(id).input(i)` is the value that the node reads. Weights are shared, nothing is computed yet.
Result<ir::Model> simulate(const ir::Model& model, const plan::QuantPlan& plan);

}  // namespace quarkq::exec
