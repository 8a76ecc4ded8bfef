// SPDX-License-Identifier: MIT
// explain(): why a tensor is quantized as it is, or why it stays float.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "quarkq/export.h"
#include "quarkq/status.h"

namespace quarkq {

struct ExplainRequest {
  std::string model_path;
  std::string config;                 ///< a file if it exists, else a preset name
  std::vector<std::string> settings;  ///< "key=value", stronger than `config`
  std::string name;                   ///< of a tensor or a node, of the model as loaded or after preprocessing
};

/// One decision: the rule that made it ("op-set", "marker", "absorb-annotated", ...) and its reason.
struct ExplainStep {
  std::string rule, text;
};

struct ExplainedTensor {
  std::string name;                ///< after preprocessing
  std::string outcome;             ///< "activation INT8", "weight INT8", ..., "absorbed", "float"
  std::vector<ExplainStep> steps;  ///< in the order they were made; empty: no rule applies to it
};

struct ExplainReport {
  std::string model_path, name;
  std::vector<ExplainedTensor> tensors;  ///< the tensor, or those that the node reads and writes
  /// How the name was found: "" unchanged, else what preprocessing made of the node.
  std::string note;
};

/// Plans the model without samples (so without the decisions of calibration and tuning) and reports the decisions
/// about one tensor, or about the tensors of one node. kInvalidArgument: no tensor or node has the name.
QUARKQ_EXPORT Result<ExplainReport> explain(const ExplainRequest& request);

QUARKQ_EXPORT std::string to_json(const ExplainReport& report);

}  // namespace quarkq
