// SPDX-License-Identifier: MIT
// forecast(): what quantize(), calibrate() and analyze() would do and cost, found by trying them on a few samples.
// Nothing is written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "quarkq/analyze.h"
#include "quarkq/calibrate.h"
#include "quarkq/export.h"
#include "quarkq/quantize.h"
#include "quarkq/status.h"

namespace quarkq {

/// Nodes of the model as loaded that stay float for one reason.
struct FloatPart {
  std::string why;                          ///< "the settings exclude them"
  std::map<std::string, size_t> operators;  ///< how many of each
  std::vector<std::string> nodes;           ///< "node conv1 (Conv)"
};

struct Forecast {
  std::string model_path, preset, quantizer;
  std::string output_path;  ///< what would be written; empty: no file
  size_t nodes_quantized = 0, nodes_total = 0, nodes_folded = 0;
  std::map<std::string, OperatorCount> operators;
  std::map<std::string, int> tensors_by_type;  ///< "activation INT8" -> count
  std::vector<FloatPart> float_parts;          ///< in the order of their first nodes
  size_t samples = 0, tried_samples = 0;       ///< of the run, and of them those that this was found with
  uint64_t model_bytes = 0;
  uint64_t output_bytes = 0;              ///< of the file that would be written, external data included
  uint64_t memory_bytes = 0;              ///< resident memory at its peak
  double seconds = 0;                     ///< of the run
  std::vector<std::string> not_included;  ///< what may make it longer: fine-tuning, a rescue
  std::vector<OutputAgreement> outputs;   ///< on the samples tried; empty when they were not compared
  std::vector<Finding> findings;
  double tried_seconds = 0;  ///< that the forecast itself took
};

/// Fails as the run would before it writes. Peak memory is that of this process, whatever else it did before.
QUARKQ_EXPORT Result<Forecast> forecast(const QuantizeRequest& request);
QUARKQ_EXPORT Result<Forecast> forecast(const CalibrateRequest& request);
QUARKQ_EXPORT Result<Forecast> forecast(const AnalyzeRequest& request);

/// The forecast as JSON, keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const Forecast& forecast);

}  // namespace quarkq
