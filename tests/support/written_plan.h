// SPDX-License-Identifier: MIT
// A written model as a bench of plan passes: imported, with the operators that it was written with.
#pragma once

#include "qdq/import/lift.h"
#include "support/pass_support.h"

namespace quarkq::test {

/// `preset`: whose operators the stages are written as. Everything that the model holds is selected.
inline void import_written(PassBench& bench, const std::string& preset = "XINT8") {
  Result<qdq::LiftedModel> lifted = qdq::lift(bench.model);
  ASSERT_TRUE(lifted.ok()) << lifted.status().message();
  bench.model = std::move(lifted.value().model);
  bench.context.plan = std::move(lifted.value().plan);
  bench.context.plan.operators = plan::QdqOperators(settings_for(preset), bench.model.opset());
}

}  // namespace quarkq::test
