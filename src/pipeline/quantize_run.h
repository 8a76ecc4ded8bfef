// SPDX-License-Identifier: MIT
// One run of quantize(): what the steps after planning share.
#pragma once

#include <string>

#include "pipeline/facts.h"
#include "pipeline/pass_runner.h"
#include "pipeline/plan_model.h"
#include "pipeline/run_state.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// What a run has of its own beside its state.
struct Run {
  const QuantizeRequest& request;
  Source& source;
  RunState& state;
  QuantizeReport& report;
  const ir::Model& loaded;       ///< whose node names settings take
  Diagnostics before_plan = {};  ///< what was found before phase mark: a second plan finds the rest again
  std::string phase = {};
  bool is_poor = false;  ///< the result, as it was verified first

  RunnerOptions options() {
    RunnerOptions options;
    options.phase = [this](const std::string& name) {
      phase = name;
      if (name == pass::name(pass::Phase::kMark)) before_plan = state.diagnostics;
      return reports(0, 0);
    };
    return options;
  }

  /// False: the user interrupted.
  bool reports(size_t done, size_t total) const {
    if (!request.progress) return true;
    Progress progress = progress_of(phase, done, total, state.settings);
    progress.detail = state.tuning.now;
    return request.progress(progress);
  }

  pass::Progress progress() {
    return [this](size_t done, size_t total) { return reports(done, total); };
  }
};

/// The checker of ONNX on the written model; a failure says which settings may help.
Status check_written(const Run& run);

}  // namespace quarkq::pipeline
