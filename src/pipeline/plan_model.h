// SPDX-License-Identifier: MIT
// What quantize() and analyze() do before Q/DQ nodes are written: the float phases, calibration, and what follows from
// it for the plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calib/statistics_set.h"
#include "pipeline/float_phases.h"
#include "pipeline/job.h"

namespace quarkq::pipeline {

/// What calibration reads: samples, or what was seen of them before.
struct Source {
  ModelFile model;  ///< as it was asked for
  Samples samples;
  Samples evaluation;  ///< other samples, to compare the results on; may be empty
  std::optional<calib::StatisticsSet> statistics;

  /// Of the calibration.
  size_t size() const;
};

/// Where samples or statistics come from, as a request says it; stronger than what the settings name.
struct SourceRequest {
  ModelFile model;
  const SampleSource& samples;       ///< in memory; empty: none
  std::string calib_folder;          ///< empty: not given
  std::string statistics_path = {};  ///< empty: not given
};
Result<Source> open_source(const SourceRequest& request, const Job& job);

/// Runs the phases up to `until`, which comes after calibration. Statistics of another model, or of another form of it,
/// are refused. Returns the float model whose inputs, outputs and function the quantized one has;
/// state.calibrated becomes the float model as it was calibrated, whose tensors have the same names and meaning.
Result<ir::Model> plan_model(Source& source, RunState& state, pass::Phase until, std::vector<PassTime>& times,
                             const RunnerOptions& options);

}  // namespace quarkq::pipeline
