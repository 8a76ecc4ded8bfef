// SPDX-License-Identifier: MIT
// What quantize() and calibrate() begin with: settings and model, read, checked and resolved, and the samples.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "calib/data_reader.h"
#include "calib/statistics_set.h"
#include "config/settings.h"
#include "ir/graph.h"
#include "quarkq/samples.h"

namespace quarkq::pipeline {

/// A model to read: the file `path`, or `bytes` when there are some; `path` then is what messages call it.
struct ModelFile {
  std::string path;
  const std::optional<std::string>* bytes = nullptr;

  ModelFile(std::string file = "") : path(std::move(file)) {}  // NOLINT(google-explicit-constructor)
  ModelFile(std::string file, const std::optional<std::string>& given) : path(std::move(file)), bytes(&given) {}
  bool is_in_memory() const { return bytes != nullptr && bytes->has_value(); }
};

struct Job {
  ir::Model model;
  config::Settings settings;
};

/// Findings of the settings come first in `diagnostics`.
Result<Job> open_job(const ModelFile& model, const std::string& config, const std::vector<std::string>& sets,
                     Diagnostics& diagnostics);

/// Only float models are quantized: one with quantizing nodes, in nested graphs too, is refused with the count of each
/// (kUnsupported). In compat mode that is a warning.
Status check_is_float(const std::string& model_path, const Job& job, Diagnostics& diagnostics);

/// What the settings say of samples: their kind, formats and preprocessing. Which samples is the caller's.
Result<calib::DataOptions> data_options(const config::Settings& settings);

/// Samples: `folder` (of the command line), else what the settings name, else random data when asked for. Null when the
/// settings name none.
Result<std::unique_ptr<calib::DataReader>> open_samples(const std::string& folder, const config::Settings& settings,
                                                        const ir::Graph& graph);
/// The same, or those of the caller's memory when `source` has some.
Result<std::unique_ptr<calib::DataReader>> open_samples(const SampleSource& source, const std::string& folder,
                                                        const Job& job);

/// Where statistics of this run come from. `graph`: the float graph that is calibrated; `samples`: of the whole data.
Result<calib::StatisticsOrigin> statistics_origin(const ModelFile& file, const ir::Model& original,
                                                  const ir::Model& prepared, const config::Settings& settings,
                                                  uint64_t samples);

}  // namespace quarkq::pipeline
