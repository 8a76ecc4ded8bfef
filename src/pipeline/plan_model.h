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
  std::string model_path;  ///< as it was asked for
  Samples samples;
  std::optional<calib::StatisticsSet> statistics;

  /// Of the calibration.
  size_t size() const;
};

/// `calib_folder` and `statistics_path` are stronger than what the settings name; empty: not given.
Result<Source> open_source(const std::string& model_path, const std::string& calib_folder,
                           const std::string& statistics_path, const Job& job);

/// Runs the phases up to `until`, which comes after calibration. Statistics of another model, or of another form of it,
/// are refused. Returns the float model whose inputs, outputs and function the quantized one has;
/// state.calibrated becomes the float model as it was calibrated, whose tensors have the same names and meaning.
Result<ir::Model> plan_model(Source& source, RunState& state, pass::Phase until, std::vector<PassTime>& times,
                             const RunnerOptions& options);

}  // namespace quarkq::pipeline
