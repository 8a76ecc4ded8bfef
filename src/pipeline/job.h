// SPDX-License-Identifier: MIT
// The first steps of quantize() and calibrate(): settings and model, read, checked and resolved, and the samples.
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
#include "pipeline/run_state.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// A model to read: the file `path`, or `bytes` when there are some; `path` then is its name in messages.
struct ModelFile {
  std::string path;
  const std::optional<std::string>* bytes = nullptr;
  bool requantizes = false;      ///< its Q/DQ are removed when it is read (qdq/import/lift.h)
  bool stays_in_memory = false;  ///< nothing that is computed from its weights goes to temporary files

  ModelFile(std::string file = "") : path(std::move(file)) {}  // NOLINT(google-explicit-constructor)
  ModelFile(std::string file, const std::optional<std::string>& given) : path(std::move(file)), bytes(&given) {}
  /// As QuantizeRequest and the like name it.
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

/// The bytes of the model file, without those of files beside it.
Status add_file(const ModelFile& file, ContentHash& hash);

struct Job {
  ir::Model model;
  config::Settings settings;
  exec::Environment environment;  ///< of all sessions of the run
  uint64_t bytes = 0;             ///< of the model, its external data included
  bool is_requantized = false;    ///< its Q/DQ were removed
  std::optional<ir::Model> tail;  ///< what legalize.tail=cut took out of the model
};

/// The settings of a request as they were given.
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

/// Reads the settings of a run that takes samples but does not quantize, so that a preset is optional. Adds their
/// backend and user libraries to the environment.
Result<config::QuantConfig> load_sample_settings(const AskedSettings& asked, exec::Environment& environment);

/// Settings of samples: kind, formats and preprocessing. The caller says which samples.
Result<calib::DataOptions> data_options(const config::QuantConfig& asked);
Result<calib::DataOptions> data_options(const config::Settings& settings);

/// Samples: `folder` (of the command line), else what the settings name, else random data when asked for. Null when the
/// settings name none.
Result<std::unique_ptr<calib::DataReader>> open_samples(const std::string& folder, const config::Settings& settings,
                                                        const ir::Graph& graph);
/// The same, or those of the caller's memory when `source` has some.
Result<std::unique_ptr<calib::DataReader>> open_samples(const SampleSource& source, const std::string& folder,
                                                        const Job& job);

/// The first `options.limit` samples of the caller's memory when `source` has some, else what `options` name.
Result<std::unique_ptr<calib::DataReader>> open_samples(const SampleSource& source, const calib::DataOptions& options,
                                                        const ir::Graph& graph);

/// Adds the notes of the reader as findings.
void report_notes(const calib::DataReader& samples, Diagnostics& diagnostics);

/// Whether open_samples() makes random data.
bool is_random_data(const SampleSource& source, const std::string& folder, const config::Settings& settings);

/// Where statistics of this run come from. `graph`: the float graph that is calibrated; `samples`: of the whole data.
Result<calib::StatisticsOrigin> statistics_origin(const ModelFile& file, const ir::Model& original,
                                                  const ir::Model& prepared, const config::Settings& settings,
                                                  uint64_t samples);

// legalize.tail=cut: the network ends where its tail begins (ir/parts.h), and the tail is a model of its own.

/// Where settings ask for it and there is a tail: takes it out of `model` and returns it. The outputs of `model` are
/// then those that the tail does not make, in their order, and after them what the tail reads; these are inputs of the
/// tail, under the same names. Nothing, with a warning, where there is no tail.
std::optional<ir::Model> cut_tail(ir::Model& model, const config::Settings& settings, Diagnostics& diagnostics);

/// kUnsupported where a job with a tail is to give one result in memory.
Status check_tail(const Job& job, bool in_memory);

/// Writes the tail of the job, if there is one, beside the result ("d/out.onnx": "d/out_tail.onnx"), before the result:
/// no network is left without its tail. Its path, or "".
Result<std::string> save_tail(const Job& job, const std::string& result_path);

}  // namespace quarkq::pipeline
