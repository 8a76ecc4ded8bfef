// SPDX-License-Identifier: MIT
// What bias correction compares (ref:tuning#bias-correction): a layer of the planned model, the same layer in float,
// and how its bias is stored.
#pragma once

#include <string>
#include <vector>

#include "pass/context.h"

namespace quarkq::planning {

struct BiasLayer {
  ir::NodeId node;
  std::string label;
  ir::ValueId start, end;  ///< in the simulated model: what the layer reads, and its result after Relu and stages
  ir::ValueId float_start, float_end;  ///< the same in the plan's graph
  ir::ValueId bias;                    ///< in the plan's graph
  ir::Tensor stored;                   ///< its codes, or its floats
  bool is_coded = false;
};

/// Conv and Gemm nodes whose bias can be corrected, in the order of the written model. A diagnostic names each that
/// cannot. `simulated`: of exec::simulate().
Result<std::vector<BiasLayer>> bias_layers(const pass::PlanContext& context, const ir::Graph& simulated);

}  // namespace quarkq::planning
