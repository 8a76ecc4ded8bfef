// SPDX-License-Identifier: MIT
// Inputs of bias correction (ref:tuning#bias-correction): a layer of the planned model, the same layer in float, and
// the storage of its bias.
#pragma once

#include <string>
#include <vector>

#include "pass/context.h"

namespace quarkq::planning {

struct BiasLayer {
  ir::NodeId node;
  std::string label;
  ir::ValueId start, end;  ///< In the simulated model: the input of the layer, and its result after Relu and stages.
  ir::ValueId float_start, float_end;  ///< Input and result in the plan's graph.
  ir::ValueId bias;                    ///< In the plan's graph.
  ir::Tensor stored;                   ///< Its codes, or its floats.
  bool is_coded = false;
};

/// Returns the Conv and Gemm nodes whose bias can be corrected, in the order of the written model. A diagnostic names
/// each node that cannot be corrected. `simulated` is the result of exec::simulate().
Result<std::vector<BiasLayer>> bias_layers(const pass::PlanContext& context, const ir::Graph& simulated);

}  // namespace quarkq::planning
