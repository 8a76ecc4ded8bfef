// SPDX-License-Identifier: MIT
// The steps of quantize() and analyze() before Q/DQ nodes are written: the float phases, calibration, and the rest of
// the plan.
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
// fitting of the samples to the result, and guarded rewrites.

/// The samples as opened, and fitted to the converted model.
struct Samples {
  std::unique_ptr<calib::DataReader> opened, fitted;
  /// Earlier `fitted` readers that expected outputs still read.
  std::vector<std::unique_ptr<calib::DataReader>> retired;
  const calib::DataReader* probe = nullptr;  ///< Samples for the guard, if they differ from the calibration samples.

  const calib::DataReader* get() const { return fitted != nullptr ? fitted.get() : opened.get(); }
};

/// Fits `samples` to the inputs of `converted`, the model after the phases before `prepare`.
void fit(Samples& samples, const ir::Model& converted, const RunState& state);

/// Returns the options of runs that measure statistics or use them. They skip the passes that fit the float model to
/// the samples, because other samples, as in another shard, would give another graph.
RunnerOptions statistics_options();

/// Runs the phases up to `until`. Sets state.source.data to the fitted samples. Returns the float model after the
/// conversions, whose inputs, outputs and function the quantized model has.
Result<ir::Model> run_float_phases(RunState& state, Samples& samples, pass::Phase until, std::vector<PassTime>& times,
                                   RunnerOptions options);

/// Input of calibration: samples, or statistics of earlier runs.
struct Source {
  ModelFile model;  ///< The requested model.
  Samples samples;
  const calib::ObservedReader* observed = nullptr;  ///< Statistics of `samples`; null without samples.
  bool is_random = false;                           ///< The samples are random data.
  Samples evaluation;                               ///< Other samples for comparing the results; may be empty.
  std::string evaluation_folder;                    ///< Folder of `evaluation`; empty: in memory.
  std::optional<calib::StatisticsSet> statistics;
  size_t available = 0;  ///< Number of samples before `most_samples` limited them.

  /// Returns the number of calibration samples.
  size_t size() const;
  /// Returns the samples on which results are judged: the evaluation's if there are any. Null without samples.
  const calib::DataReader* judged() const { return evaluation.opened != nullptr ? evaluation.get() : samples.get(); }
};

/// The source of samples or statistics in a request; overrides the settings.
struct SourceRequest {
  ModelFile model;
  const SampleSource& samples;       ///< Samples in memory; empty: none.
  std::string calib_folder;          ///< Empty: not given.
  std::string statistics_path = {};  ///< Empty: not given.
  std::string eval_folder = {};      ///< Empty: not given.
  SampleSource eval_samples = {};    ///< Evaluation samples in memory.
  size_t most_samples = 0;           ///< Upper bound on calibration samples, spread over all; 0: all.
};
SourceRequest source_request(const QuantizeRequest& request, const ModelFile& file);
/// Opens the source. Warns of samples that contradict the model (plausible_inputs.h).
Result<Source> open_source(const SourceRequest& request, Job& job, Diagnostics& diagnostics);

/// Runs the phases up to `until`, which is after calibration. Rejects statistics of another model, or of another form
/// of it. Returns the float model whose inputs, outputs and function the quantized model has. Sets state.calibrated to
/// the float model as calibrated, whose tensors have the same names and meaning.
Result<ir::Model> plan_model(Source& source, RunState& state, pass::Phase until, std::vector<PassTime>& times,
                             const RunnerOptions& options);

// Checks before anything is computed.

/// Fails if the result would replace the model, or if its folder does not exist or is not writable.
Status check_output(const std::string& input, const std::string& output);

/// Fails if the settings alone show that samples are missing. Conditions that depend on the selection are left to the
/// pass that calibrates.
Status check_samples(const Source& source, const Job& job);

/// Fails for QuantizeRequest::workers_folder with settings whose layers cannot be trained by several processes.
Status check_workers(const QuantizeRequest& request, const Job& job);

}  // namespace quarkq::pipeline
