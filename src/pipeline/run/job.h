// SPDX-License-Identifier: MIT
// The first steps of quantize() and calibrate(): reading, checking and resolving settings and model, and opening
// samples.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/hash.h"
#include "calib/data_reader.h"
#include "calib/statistics_set.h"
#include "config/settings.h"
#include "exec/environment.h"
#include "ir/graph.h"
#include "onnx_io/load.h"
#include "pipeline/run/run_state.h"
#include "pipeline/run/tail.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// A model to read: the file `path`, or `bytes` if set; `path` is then its name in messages.
struct ModelFile {
  std::string path;
  const std::optional<std::string>* bytes = nullptr;
  bool requantizes = false;      ///< Remove its Q/DQ when it is read (qdq/import/lift.h).
  bool stays_in_memory = false;  ///< Keep data computed from its weights out of temporary files.

  ModelFile(std::string file = "") : path(std::move(file)) {}  // NOLINT(google-explicit-constructor)
  ModelFile(std::string file, const std::optional<std::string>& given) : path(std::move(file)), bytes(&given) {}
  /// Returns the model named in a request.
  template <typename Request>
  static ModelFile of(const Request& request) {
    ModelFile file(request.model_path);
    file.bytes = &request.model_bytes;
    if constexpr (requires { request.requantize; }) file.requantizes = request.requantize;
    return file;
  }
  bool is_in_memory() const { return bytes != nullptr && bytes->has_value(); }
};

/// Loads and normalizes the model. `report` may be null.
Result<ir::Model> load_model(const ModelFile& file, onnx_io::LoadReport* report = nullptr);

/// Adds the bytes of the model file, without external data files.
Status add_file(const ModelFile& file, ContentHash& hash);

struct Job {
  ir::Model model;
  config::Settings settings;
  exec::Environment environment;  ///< Environment of all sessions of the run.
  uint64_t bytes = 0;             ///< Size of the model, including its external data.
  bool is_requantized = false;    ///< Its Q/DQ were removed.
  CutTailPtr tail;                ///< The part of the model removed by legalize.tail; may be null.
  /// The model before its batch was fixed, if a target that the user named fixes it.
  std::optional<ir::Model> unpinned = {};
};

/// Settings of a request, not yet read.
struct AskedSettings {
  const std::string& config;
  const std::vector<std::string>& sets;
};

/// Findings of the settings come first in `diagnostics`. The job's environment is `environment` with the backend and
/// the user libraries of the settings.
Result<Job> open_job(const ModelFile& model, const AskedSettings& asked, exec::Environment environment,
                     Diagnostics& diagnostics);

/// `state` gets the model and the settings of the job. The job keeps the model as loaded; weights are shared.
void begin(RunState& state, const Job& job);

/// Only float models are quantized: one with quantizing nodes, in nested graphs too, is refused with the count of each
/// (kUnsupported). In compat mode that is a warning.
Status check_is_float(const std::string& model_path, const Job& job, Diagnostics& diagnostics);

/// Reads the settings of a run that reads samples but does not quantize, so that a preset is optional. Adds their
/// backend and user libraries to the environment.
Result<config::QuantConfig> load_sample_settings(const AskedSettings& asked, exec::Environment& environment);

/// Returns the settings of samples: kind, formats and preprocessing, without the samples themselves.
Result<calib::DataOptions> data_options(const config::QuantConfig& asked);
Result<calib::DataOptions> data_options(const config::Settings& settings);

/// Opens samples: `folder` (of the command line), otherwise the samples named in the settings, otherwise random data if
/// requested. Returns null if the settings name none.
Result<std::unique_ptr<calib::DataReader>> open_samples(const std::string& folder, const config::Settings& settings,
                                                        const ir::Graph& graph);
/// Opens the samples in the caller's memory if `source` has any, otherwise as above.
Result<std::unique_ptr<calib::DataReader>> open_samples(const SampleSource& source, const std::string& folder,
                                                        const Job& job);

/// Opens the first `options.limit` samples of the caller's memory if `source` has any, otherwise the samples named by
/// `options`.
Result<std::unique_ptr<calib::DataReader>> open_samples(const SampleSource& source, const calib::DataOptions& options,
                                                        const ir::Graph& graph);

/// Adds the notes of the reader as findings.
/// With legalize.shapes_of_samples: gives inputs with dimensions that are not numbers the shape of the calibration
/// samples. Fails with kInvalidArgument if the samples have several shapes. Must run before begin().
Status pin_sample_shapes(Job& job, const SampleSource& source, const std::string& folder, Diagnostics& diagnostics);

void report_notes(const calib::DataReader& samples, Diagnostics& diagnostics);

/// Fixes the batch as the target of the preset requires (legalize.batch), unless the samples have another one. If the
/// user named the target, open_job() has done so.
Status pin_default_batch(Job& job, const SampleSource& source, const std::string& folder, Diagnostics& diagnostics);

/// Replaces a model whose inputs have a fixed batch above 1 by pass::with_batch_of_one(). If that fails, the model
/// stays and a finding states why.
void take_batch_of_one(ir::Model& model, const exec::Environment& environment, Diagnostics& diagnostics);

/// Fails if the samples are cut into rows for the batch of 1 that replaced the symbolic batch of `model`, and rows of
/// the model depend on each other.
Status check_cut_rows(const ir::Model& model, const calib::DataReader& samples, const exec::Environment& environment);

/// Returns whether open_samples() creates random data.
bool is_random_data(const SampleSource& source, const std::string& folder, const config::Settings& settings);

/// Returns the origin of this run's statistics. `graph` is the calibrated float graph; `samples` is the number in the
/// whole data.
Result<calib::StatisticsOrigin> statistics_origin(const ModelFile& file, const ir::Model& original,
                                                  const ir::Model& prepared, const config::Settings& settings,
                                                  uint64_t samples);

}  // namespace quarkq::pipeline
