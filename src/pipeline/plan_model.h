// SPDX-License-Identifier: MIT
// What quantize() and analyze() do before Q/DQ nodes are written: the float phases, calibration, and what follows from
// it for the plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calib/observed_reader.h"
#include "calib/statistics_set.h"
#include "pipeline/float_phases.h"
#include "pipeline/job.h"

namespace quarkq::pipeline {

/// Input of calibration: samples, or statistics of earlier runs.
struct Source {
  ModelFile model;  ///< as it was asked for
  Samples samples;
  const calib::ObservedReader* observed = nullptr;  ///< what `samples` hold; null without samples
  bool is_random = false;                           ///< they are random data
  Samples evaluation;                               ///< other samples, to compare the results on; may be empty
  std::string evaluation_folder;                    ///< where those are; empty: in memory
  std::optional<calib::StatisticsSet> statistics;
  size_t available = 0;  ///< samples there were before `most_samples` limited them

  /// Of the calibration.
  size_t size() const;
  /// What results are judged on: the evaluation's samples when there are some. Null without samples.
  const calib::DataReader* judged() const { return evaluation.opened != nullptr ? evaluation.get() : samples.get(); }
};

/// Where samples or statistics come from, as a request says it; stronger than what the settings name.
struct SourceRequest {
  ModelFile model;
  const SampleSource& samples;       ///< in memory; empty: none
  std::string calib_folder;          ///< empty: not given
  std::string statistics_path = {};  ///< empty: not given
  std::string eval_folder = {};      ///< empty: not given
  SampleSource eval_samples = {};    ///< the same from memory
  size_t most_samples = 0;           ///< only so many of the calibration, spread over all; 0: all
};
SourceRequest source_request(const QuantizeRequest& request, const ModelFile& file);
/// Samples that contradict the model are warned of (plausible_inputs.h).
Result<Source> open_source(const SourceRequest& request, const Job& job, Diagnostics& diagnostics);

/// Runs the phases up to `until`, which comes after calibration. Statistics of another model, or of another form of it,
/// are refused. Returns the float model whose inputs, outputs and function the quantized one has;
/// state.calibrated becomes the float model as it was calibrated, whose tensors have the same names and meaning.
Result<ir::Model> plan_model(Source& source, RunState& state, pass::Phase until, std::vector<PassTime>& times,
                             const RunnerOptions& options);

}  // namespace quarkq::pipeline
