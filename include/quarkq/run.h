// SPDX-License-Identifier: MIT
// run(): a float or quantized model over a folder of samples, results as .npy files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/export.h"
#include "quarkq/quantize.h"
#include "quarkq/status.h"

namespace quarkq {

struct RunRequest {
  std::string model_path;                  ///< when `model_bytes` are given: what messages call the model
  std::optional<std::string> model_bytes;  ///< as in QuantizeRequest
  std::string input_folder;
  SampleSource sample_source;         ///< samples from memory, instead of a folder
  std::string config;                 ///< how samples are read: `calibration` and `preprocess` of a file or preset
  std::vector<std::string> settings;  ///< "key=value", stronger than `config`: "preprocess=imagenet"
  std::string output_folder;  ///< made when missing; DIR/<sample>.npy, or DIR/<output>/<sample>.npy for several outputs
  /// Takes the results of each sample, instead of files in `output_folder`. An error that it returns ends the run.
  std::function<Status(const std::string& sample, const std::vector<SampleTensor>& results)> on_result;
  int threads = 0;         ///< 0: the cores that are free
  size_t limit = 0;        ///< first so many samples; 0: all
  int64_t max_memory = 0;  ///< bytes for intermediate values and results; 0: the memory of the machine or container
  int repeat = 1;          ///< run each sample this often; the results are the same
  std::function<bool(const Progress&)> progress;
};

struct RunReport {
  size_t samples = 0;
  std::vector<std::string> outputs;
  std::vector<double> milliseconds;  ///< per run, inference only
  size_t arena_bytes = 0;            ///< intermediate values; 0 where another runtime has them
  std::string backend;               ///< who ran it: "native", or "onnxruntime 1.23.0 (CPUExecutionProvider)"
  /// Folder by output, for outputs whose folder got a number because another output is spelt the same.
  std::map<std::string, std::string> renamed = {};
  std::vector<Finding> findings = {};  ///< what was found and left out of the samples
};

QUARKQ_EXPORT Result<RunReport> run_model(const RunRequest& request);

/// The report as JSON, keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const RunReport& report);

}  // namespace quarkq
