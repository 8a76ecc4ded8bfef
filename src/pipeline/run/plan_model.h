// SPDX-License-Identifier: MIT
// What quantize() and analyze() do before Q/DQ nodes are written: the float phases, calibration, and what follows from
// it for the plan.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calib/observed_reader.h"
#include "calib/statistics_set.h"
#include "pipeline/run/job.h"
#include "pipeline/run/pass_runner.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

// The phases before calibration, which quantize(), calibrate() and optimize() share: conversions of the whole model,
// samples that fit the result, and the guarded rewrites of it.

/// The samples as they were opened, and as the converted model takes them.
struct Samples {
  std::unique_ptr<calib::DataReader> opened, fitted;
  /// Earlier `fitted` ones, which expected outputs still read.
  std::vector<std::unique_ptr<calib::DataReader>> retired;
  const calib::DataReader* probe = nullptr;  ///< what the guard runs, when that is not the samples

  const calib::DataReader* get() const { return fitted != nullptr ? fitted.get() : opened.get(); }
};

/// Makes `samples` fit the inputs of `converted`, which the phases before `prepare` made.
void fit(Samples& samples, const ir::Model& converted, const RunState& state);

/// Runs the phases up to `until`. state.source.data becomes the fitted samples. Returns the float model after the
/// conversions, whose inputs, outputs and function the quantized model has.
Result<ir::Model> run_float_phases(RunState& state, Samples& samples, pass::Phase until, std::vector<PassTime>& times,
                                   RunnerOptions options);

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

// What is refused before anything is computed.

/// The result must not replace the model, and its folder must exist and take a file.
Status check_output(const std::string& input, const std::string& output);

/// Missing samples, where the settings alone say that they are needed. What depends on the selection is left to the
/// pass that calibrates.
Status check_samples(const Source& source, const Job& job);

/// QuantizeRequest::workers_folder with settings whose layers cannot be trained by several processes.
Status check_workers(const QuantizeRequest& request, const Job& job);

}  // namespace quarkq::pipeline
