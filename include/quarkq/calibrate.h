// SPDX-License-Identifier: MIT
// calibrate(): statistics of a model's tensors into a file, over all samples or a shard of them; merge_statistics():
// shards into one. quantize() accepts the result instead of samples.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/quantize.h"

namespace quarkq {

/// Sample number n of the data belongs to shard n mod count.
struct Shard {
  uint64_t index = 0;  ///< taken modulo count, so that indices from 0 or from 1 both cover all samples
  uint64_t count = 1;  ///< > 0
};

struct CalibrateRequest {
  std::string model_path;                  ///< when `model_bytes` are given: name of the model in messages
  std::optional<std::string> model_bytes;  ///< as in QuantizeRequest
  bool requantize = false;                 ///< as in QuantizeRequest
  SampleSource sample_source;              ///< samples from memory, instead of a folder
  std::string output_path;
  std::string config;                 ///< as in QuantizeRequest
  std::vector<std::string> settings;  ///< "key=value", stronger than `config`
  std::string calib_folder;           ///< samples; empty: what the config says
  Shard shard;
  int threads = 0;                                ///< 0: the cores that are free
  std::function<bool(const Progress&)> progress;  ///< returns false to interrupt; may be empty
  FailureSink on_failure;                         ///< may be empty
};

struct CalibrateReport {
  std::string output_path;
  size_t tensors = 0;
  uint64_t samples = 0;        ///< in the file
  uint64_t total_samples = 0;  ///< of the whole data
  uint64_t values = 0;         ///< observed, finite or not
  uint64_t bytes = 0;          ///< of the file
  std::vector<Finding> findings;
  double seconds = 0;
};

/// The file is complete or absent. kBadData when the shard has no sample.
QUARKQ_EXPORT Result<CalibrateReport> calibrate(const CalibrateRequest& request);

struct MergeRequest {
  std::vector<std::string> parts;
  std::string output_path;
  bool allow_other_isa = false;  ///< parts of different instruction sets
};

/// Any partition of the samples gives the same bytes. kBadData names the part that does not fit, and the difference.
QUARKQ_EXPORT Result<CalibrateReport> merge_statistics(const MergeRequest& request);

/// The report as JSON, keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const CalibrateReport& report);

}  // namespace quarkq
