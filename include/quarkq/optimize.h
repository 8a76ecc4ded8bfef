// SPDX-License-Identifier: MIT
// optimize(): only the rewrites of the float model that quantize() makes before calibration.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "quarkq/quantize.h"

namespace quarkq {

struct OptimizeRequest {
  std::string model_path;
  std::string output_path;
  std::string config;                 ///< as in QuantizeRequest; empty: the defaults
  std::vector<std::string> settings;  ///< "key=value", stronger than `config`
  std::string calib_folder;  ///< samples; the first checks that outputs stay. Empty: what the config says, or random
  std::vector<std::string> only, skip;  ///< names of passes; `only` empty: those that the settings switch on
  std::string dump_after;               ///< name of a pass; empty: no dump
  int threads = 0;                      ///< 0: the cores that are free
};

struct OptimizeReport {
  std::string model_path, output_path;
  std::vector<PassTime> passes;  ///< the passes that ran and were kept, in order
  size_t nodes_before = 0, nodes_after = 0;
  uint64_t bytes = 0;  ///< of the output
  std::string dump;    ///< the model after dump_after, as text
  std::vector<Finding> findings;
  double seconds = 0;
  std::string tail_path;  ///< of the model that decodes the outputs, with legalize.tail=cut; else empty
};

/// The output is complete or absent.
QUARKQ_EXPORT Result<OptimizeReport> optimize(const OptimizeRequest& request);

/// The report as JSON, keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const OptimizeReport& report);

}  // namespace quarkq
