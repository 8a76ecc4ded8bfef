// SPDX-License-Identifier: MIT
#include "pipeline/float_remedies.h"

#include <algorithm>
#include <memory>

#include "pipeline/part_plans.h"
#include "pipeline/rescue.h"
#include "rewrite/equalize/patterns.h"

namespace quarkq::pipeline {
namespace {

bool has_op(const ir::Graph& graph, const char* op) {
  return std::any_of(graph.order().begin(), graph.order().end(), [&](ir::NodeId id) { return graph.node(id).is(op); });
}

/// Channels with scales of their own need no equalization. Values that settings name are kept.
bool may_equalize(const RunState& state, const ir::Graph& /*loaded*/) {
  return !state.settings.formats.per_channel && !state.settings.tool.equalize_clipped &&
         !rewrite::find_clipped_pairs(state.calibrated->graph, state.selection).empty();
}

bool may_keep_sigmoid(const RunState& state, const ir::Graph& loaded) {
  return state.settings.npu.convert_sigmoid_to_hard_sigmoid &&
         !config::is_users(state.settings.origin_of("ConvertSigmoidToHardSigmoid")) && has_op(loaded, "Sigmoid");
}

bool may_keep_clip(const RunState& state, const ir::Graph& loaded) {
  return state.settings.replaces_clip6() && !config::is_users(state.settings.origin_of("ReplaceClip6Relu")) &&
         has_op(loaded, "Clip");
}

/// The results of a run in its state, without its settings.
struct Results {
  ir::Model model;
  plan::Selection selection;
  plan::QuantPlan plan;
  std::optional<ir::Model> calibrated;
  pass::Measured measured;
  Diagnostics diagnostics;
  std::shared_ptr<pass::RoundingCache> rounded;
};

void exchange(RunState& state, Results& other) {
  std::swap(state.model, other.model);
  std::swap(state.selection, other.selection);
  std::swap(state.plan, other.plan);
  std::swap(state.calibrated, other.calibrated);
  std::swap(state.measured, other.measured);
  std::swap(state.diagnostics, other.diagnostics);
  std::swap(state.tuning.rounded, other.rounded);
}

Result<Agreement> plan_anew(RunState& state, const FloatRun& run, const RunnerOptions& options) {
  QQ_TRY(const ir::Model original, plan_model(run.source, state, pass::Phase::kWrite, run.times, options));
  return run_plan(state, run.expected);
}

}  // namespace

const std::vector<FloatRemedy>& float_remedies() {
  static const std::vector<FloatRemedy> remedies = {
      {"ReplaceClip6Relu=false", "Clip(0, 6) stays as it is", may_keep_clip,
       [](config::Settings& settings) { settings.preprocessing.replace_clip6_relu = false; }},
      {"quarkq.equalize_clipped=true", "layers with a Clip between them are equalized", may_equalize,
       [](config::Settings& settings) { settings.tool.equalize_clipped = true; }},
      {"ConvertSigmoidToHardSigmoid=false", "Sigmoid stays as it is", may_keep_sigmoid,
       [](config::Settings& settings) { settings.npu.convert_sigmoid_to_hard_sigmoid = false; }},
  };
  return remedies;
}

Result<std::optional<Agreement>> try_remedy(const FloatRemedy& remedy, RunState& state, const FloatRun& run,
                                            const std::function<bool(const Agreement&)>& keeps,
                                            const RunnerOptions& options) {
  // Samples that were transposed for the converted model would be transposed once more.
  if (!state.channels_last_inputs.empty() || !remedy.is_open(state, run.loaded.graph))
    return std::optional<Agreement>();
  Results plain{run.loaded, {}, {}, {}, {}, {}, std::make_shared<pass::RoundingCache>()};
  exchange(state, plain);
  const config::Settings settings = run.settings;
  remedy.apply(run.settings);
  const Result<Agreement> after = plan_anew(state, run, options);
  if (after.ok() && keeps(after.value())) return std::optional<Agreement>(after.value());
  exchange(state, plain);
  run.settings = settings;
  if (!after.ok() && after.status().code() == Code::kInterrupted) return after.status();
  return std::optional<Agreement>();
}

}  // namespace quarkq::pipeline
