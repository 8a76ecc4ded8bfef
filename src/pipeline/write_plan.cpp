// SPDX-License-Identifier: MIT
#include "pipeline/write_plan.h"

#include "pipeline/run_listed.h"
#include "qdq/passes.h"

namespace quarkq::pipeline {

Status write_plan(RunState& state, std::vector<PassTime>& times, const RunnerOptions& options) {
  QQ_RETURN_IF_ERROR(run_passes(state, {.from = pass::Phase::kWrite}, times, options));
  if (state.settings.passes.after.empty()) return Status();
  QQ_RETURN_IF_ERROR(run_listed(state.settings.passes.after, state.model, state.diagnostics));
  pass::QdqContext context = state.qdq_context();
  return qdq::stamp_model(context).status();
}

}  // namespace quarkq::pipeline
