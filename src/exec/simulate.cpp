// SPDX-License-Identifier: MIT
#include "exec/simulate.h"

#include "plan/lowering/lower.h"

namespace quarkq::exec {

Result<ir::Model> simulate(const ir::Model& model, const plan::QuantPlan& plan) {
  ir::Model simulated = model;  // shares the weights
  QQ_TRY(simulated.graph, plan::lower(model.graph, plan, plan::QdqForm::kSimulated));
  return simulated;
}

}  // namespace quarkq::exec
