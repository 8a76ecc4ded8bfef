// SPDX-License-Identifier: MIT
// convert(): a finished model, float or quantized, through conversions chosen by name, one after the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/quantize.h"

namespace quarkq {

struct ConvertRequest {
  std::string model_path;                  ///< when `model_bytes` are given: name of the model in messages
  std::optional<std::string> model_bytes;  ///< the serialized model, instead of the file; weights inside
  bool in_memory = false;                  ///< the result is returned in ConvertReport::model, and no file is written
  /// Names that end in .onnxtxt, .pbtxt, .txtpb or .textproto, of either model, mean protobuf's text format. Empty:
  /// only what conversions write beside a model (weight-histograms).
  std::string output_path;
  /// In order, "remove-qdq" or "replace-infinities:value=100,..." (`quarkq list conversions`). None: the model is only
  /// read, checked and written.
  std::vector<std::string> passes;
  /// A list of passes in the reference's form, instead of `passes`: a file, a template ("xint8") or JSON text. A list
  /// may name the model and the output, where those are empty here.
  std::string pass_list;
  bool strict = false;         ///< a pass that changes nothing, or leaves a node that it is for, is an error
  bool external_data = false;  ///< weights beside the model, in "<file name>.data"
  int threads = 0;             ///< 0: the cores that are free
};

/// A node that a pass left as it was, and why.
struct UnconvertedNode {
  std::string node, reason;  ///< "node conv1 (Conv)", "its weights are computed"
};

struct ConvertedPass {
  std::string name;
  std::string claim;   ///< of the outputs: "none" (the model is only read), "equal", "rounded" or "other"
  size_t changes = 0;  ///< places that it changed; 1 for all changes of a pass that quantize has, too
  std::vector<UnconvertedNode> left;
  size_t nodes_before = 0, nodes_after = 0;
  /// Largest difference that it made to an output on a random sample, relative to the output's largest value. Absent
  /// where the two models cannot both be run on one sample.
  std::optional<double> difference;
  double seconds = 0;
};

struct ConvertReport {
  std::string model_path, output_path;
  std::vector<ConvertedPass> passes;  ///< in the order they ran
  std::vector<std::string> files;     ///< written beside the model
  int64_t input_opset = 0, output_opset = 0;
  uint64_t bytes = 0;  ///< of the output
  std::string model;   ///< the serialized result, with ConvertRequest::in_memory
  std::vector<Finding> findings;
  double seconds = 0;
};

/// The output is complete or absent. kInvalidArgument: a pass or an option that there is not, before the model is read.
/// kUnsupported: a pass cannot do its work, the message names pass and node. kInternal: a pass that claims equal
/// outputs changed them on a random sample; nothing was written.
QUARKQ_EXPORT Result<ConvertReport> convert(const ConvertRequest& request);

/// The report as JSON (docs/schemas/convert.schema.json), keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const ConvertReport& report);

}  // namespace quarkq
