// SPDX-License-Identifier: MIT
// RunState: everything that the passes of one run read and change, as a value. A copy shares the weights and costs as
// much as the graph has nodes: it is a trial of its own (trial.h), or what a run returns to. Passes see the part that
// their kind of phase may touch (pass/context.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pass/context.h"
#include "pipeline/run/tail.h"

namespace quarkq::pipeline {

struct RunState {
  ir::Model model = {};
  config::Settings settings = {};
  Diagnostics diagnostics = {};
  exec::Environment environment = {};  ///< Environment of all sessions of the run.
  plan::Selection selection = {};
  plan::QuantPlan plan = {};
  pass::CalibrationSource source = {};
  std::vector<std::string> channels_last_inputs = {};  ///< Inputs whose samples are transposed (0, 2, 3, 1).
  std::shared_ptr<const ir::Model> calibrated = {};    ///< Float model at the start of phase calibrate; null before.
  Diagnostics before_passes = {};                      ///< Findings before the first pass, of model and samples.
  Diagnostics before_plan = {};                        ///< Findings before phase mark.
  pass::Measured measured = {};
  pass::Tuning tuning = {};
  CutTailPtr tail = {};          ///< Results are judged joined with it (judged_tail()); may be null.
  pass::Progress progress = {};  ///< Progress of the running pass; returns false to interrupt.
  bool replan = false;           ///< A pass of phase calibrate requests phase mark to run again.

  const ir::Graph& graph() const { return model.graph; }

  pass::SelectContext select_context() { return {model, settings, selection, diagnostics}; }
  pass::FloatContext float_context() {
    return {model, settings, selection, diagnostics, environment, source.data, &channels_last_inputs, progress};
  }
  pass::PlanContext plan_context() {
    return {model,  settings,         selection, plan,    diagnostics, environment,
            source, calibrated.get(), &tuning,   &replan, &measured,   progress};
  }
  pass::RestructureContext restructure_context() { return {model, settings, selection, plan, diagnostics}; }
  pass::QdqContext qdq_context() {
    return {model, settings, selection, plan, diagnostics, environment, source.data, progress};
  }
};

}  // namespace quarkq::pipeline
