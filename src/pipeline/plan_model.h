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
  Samples evaluation;  ///< other samples, to compare the results on; may be empty
  std::optional<calib::StatisticsSet> statistics;

  /// Of the calibration.
  size_t size() const;
};

/// `calib_folder` and `statistics_path` are stronger than what the settings name; empty: not given.
Result<Source> open_source(const std::string& model_path, const std::string& calib_folder,
                           const std::string& statistics_path, const Job& job);

/// What a quantized model is compared with.
struct FloatModels {
  ir::Model original;    ///< whose inputs, outputs and function it shall have
  ir::Model calibrated;  ///< as it was calibrated: its tensors have the same names and meaning
};

/// Runs the phases up to `until`, which lies behind calibration. Statistics of another model, or of another form of it,
/// are refused.
Result<FloatModels> plan_model(Source& source, passes::PassContext& context, const char* until,
                               std::vector<PhaseTime>& times, const RunnerOptions& options);

}  // namespace quarkq::pipeline
