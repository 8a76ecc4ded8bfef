// SPDX-License-Identifier: MIT
// One run of quantize(): the common data of the steps after planning.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "config/settings.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/pass_runner.h"
#include "pipeline/run/plan_model.h"
#include "pipeline/run/run_state.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// Data of a run in addition to its state.
struct Run {
  const QuantizeRequest& request;
  Source& source;
  RunState& state;
  QuantizeReport& report;
  const ir::Model& loaded;  ///< Model whose node names are used in settings.
  CutTailPtr tail = {};     ///< Written together with the result; null if the model is whole.
  std::string phase = {};
  size_t trials = 0, most_trials = 0;  ///< Number of trials of a rescue, and its upper bound; 0: no rescue has begun.
  bool is_poor = false;                ///< Quality of the result at its first verification.

  RunnerOptions options() {
    RunnerOptions options = source.statistics ? statistics_options() : RunnerOptions();
    options.phase = [this](const std::string& name) {
      if (most_trials == 0) phase = name;  // a rescue plans again, and stays one phase
      return reports(0, 0);
    };
    return options;
  }

  /// Returns false if the user interrupted.
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

/// Runs the ONNX checker on the written model. A failure names settings that may help.
Status check_written(const Run& run);

/// Writes the metadata of `model`: quarkq.version; quarkq.settings, the hash of all settings that may change a result,
/// regardless of how they were given; and, if ranges were measured, quarkq.calibration, the hash of the ranges. Hashes
/// identify and prove nothing (base/hash.h). Does nothing if the settings disable it, and in compat mode.
void write_metadata(const RunState& state, ir::Model& model);

}  // namespace quarkq::pipeline
