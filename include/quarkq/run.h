// SPDX-License-Identifier: MIT
// run(): a float or quantized model over a folder of samples, results as .npy files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quarkq/export.h"
#include "quarkq/quantize.h"
#include "quarkq/status.h"

namespace quarkq {

struct RunRequest {
  std::string model_path;
  std::string input_folder;
  std::string output_folder;  ///< made when missing; DIR/<sample>.npy, or DIR/<output>/<sample>.npy for several outputs
  int threads = 0;            ///< 0: the cores that are free
  size_t limit = 0;           ///< first so many samples; 0: all
  int64_t max_memory = 0;     ///< bytes for intermediate values and results; 0: what the machine has
  int repeat = 1;             ///< run each sample this often; the results are the same
  std::function<bool(const Progress&)> progress;
};

struct RunReport {
  size_t samples = 0;
  std::vector<std::string> outputs;
  std::vector<double> milliseconds;  ///< per run, inference only
  size_t arena_bytes = 0;            ///< intermediate values
};

QUARKQ_EXPORT Result<RunReport> run_model(const RunRequest& request);

}  // namespace quarkq
