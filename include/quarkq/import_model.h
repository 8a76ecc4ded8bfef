// SPDX-License-Identifier: MIT
// import_model(): a quantized model of another tool, written anew with its own scales for a target, or made float.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/quantize.h"

namespace quarkq {

struct ImportRequest {
  std::string model_path;
  std::string output_path;
  std::vector<std::string> settings;  ///< "key=value"; "target=x2" names what the model is written for
  bool to_float = false;              ///< remove Q/DQ; the default for targets that take float models
  int threads = 0;                    ///< 0: the cores that are free
};

struct ImportReport {
  std::string model_path, output_path;
  std::string producer;               ///< as the file names it: "onnx.quantize 0.1.0"; may be empty
  std::map<std::string, int> before;  ///< quantizing nodes by operator, "com.microsoft::QuantizeLinear"
  std::map<std::string, int> after;   ///< the same of the result
  size_t tensors = 0;                 ///< whose scales were read and, unless the result is float, kept
  int64_t input_opset = 0, output_opset = 0;
  std::optional<double> difference;    ///< largest one of an output on a random sample, relative to its largest value
  std::optional<TargetReport> target;  ///< what of the result it would run; absent without a target
  uint64_t bytes = 0;                  ///< of the output
  std::vector<Finding> findings;
  double seconds = 0;
};

/// The output is complete or absent. Scales, zero points and stored integers stay. A result whose outputs differ from
/// those of the model on a random sample is not written (kInternal). kUnsupported for a model that holds no Q/DQ that
/// can be read; what is of other kinds (operators on integers, lone Q/DQ) stays and is named.
QUARKQ_EXPORT Result<ImportReport> import_model(const ImportRequest& request);

/// The report as JSON (docs/schemas/import.schema.json), keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const ImportReport& report);

}  // namespace quarkq
