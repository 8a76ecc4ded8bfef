// SPDX-License-Identifier: MIT
#include "pipeline/write_plan.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "pipeline/quantize_bodies.h"
#include "pipeline/run_listed.h"
#include "qdq/passes.h"

namespace quarkq::pipeline {
namespace {

constexpr const char* kQuantizeBodies = "quantize-bodies";  // in the list of what took how long

Status write_bodies(RunState& state, std::vector<PassTime>& times) {
  const Stopwatch watch;
  const size_t nodes = state.graph().order().size();
  QQ_TRY(const Changed changed, quantize_bodies(state));
  if (changed == Changed::kYes) times.push_back({kQuantizeBodies, watch.seconds(), true, nodes, nodes});
  return Status();
}

}  // namespace

bool has_written(const std::vector<PassTime>& times) {
  return has_changed(times, pass::Phase::kWrite) ||
         std::ranges::any_of(times, [](const PassTime& time) { return time.name == kQuantizeBodies; });
}

Status write_plan(RunState& state, std::vector<PassTime>& times, const RunnerOptions& options) {
  QQ_RETURN_IF_ERROR(write_bodies(state, times));
  QQ_RETURN_IF_ERROR(run_passes(state, {.from = pass::Phase::kWrite}, times, options));
  if (state.settings.passes.after.empty()) return Status();
  QQ_RETURN_IF_ERROR(run_listed(state.settings.passes.after, state.model, state.diagnostics));
  pass::QdqContext context = state.qdq_context();
  return qdq::stamp_model(context).status();
}

}  // namespace quarkq::pipeline
