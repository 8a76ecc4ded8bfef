// SPDX-License-Identifier: MIT
// One run of quantize(): what the steps after planning share.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "config/settings.h"
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
  const ir::Model& loaded;  ///< whose node names settings take
  std::string phase = {};
  size_t trials = 0, most_trials = 0;  ///< of a rescue so far, and at most; 0: no rescue has begun
  bool is_poor = false;                ///< the result, as it was verified first

  RunnerOptions options() {
    RunnerOptions options;
    options.phase = [this](const std::string& name) {
      if (most_trials == 0) phase = name;  // a rescue plans again, and stays one phase
      return reports(0, 0);
    };
    return options;
  }

  /// False: the user interrupted.
  bool reports(size_t done, size_t total) const {
    if (!request.progress) return true;
    const bool in_rescue = most_trials > 0;
    Progress progress = progress_of(phase, in_rescue ? trials : done, in_rescue ? std::max(trials, most_trials) : total,
                                    state.settings);
    progress.is_at_most = in_rescue;
    progress.detail = state.tuning.now;
    return request.progress(progress);
  }

  pass::Progress progress() {
    return [this](size_t done, size_t total) { return reports(done, total); };
  }
};

/// The checker of ONNX on the written model; a failure says which settings may help.
Status check_written(const Run& run);

// What the settings EvalMetrics and debug_mode add to the report of a result.

/// Fills in report.metrics, of the loaded and the written model over the evaluation samples, and report.nodes, where
/// the settings ask for them. What keeps the models from being compared is a warning: the result itself is complete.
Status evaluate_result(Run& run);

// What a quantized model says about its making, so that it can be traced: version, settings and calibration.

/// Writes into the metadata of `model`: quarkq.version; quarkq.settings, the hash of all settings that may change a
/// result, whichever way they were given; and, where ranges were measured, quarkq.calibration, the hash of these.
/// Hashes identify, they prove nothing (base/hash.h). Does nothing where the settings say so, and in compat mode.
void write_metadata(const RunState& state, ir::Model& model);

// The verdict of a quantize run: how good the result is by a documented rule, and the one thing to try next.

/// By the worst sample and the mean of all outputs that are not almost zero. `collapse`: the cosine below which an
/// output counts as broken. Nothing when no output can be judged.
std::optional<Verdict> judge(const QuantizeReport& report, const QuantizeRequest& request,
                             const config::Settings& settings, double collapse);

}  // namespace quarkq::pipeline
