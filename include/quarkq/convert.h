// SPDX-License-Identifier: MIT
// convert(): a finished model, float or quantized, through conversions chosen by name, one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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
  int64_t memory_ceiling = 0;  ///< as in QuantizeRequest
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

/// import_model(): a quantized model of another tool, written anew with its own scales for a target, or made float.
struct ImportRequest {
  std::string model_path;
  std::string output_path;
  std::vector<std::string> settings;  ///< "key=value"; "target=x2" names what the model is written for
  bool to_float = false;              ///< remove Q/DQ; the default for targets that take float models
  int threads = 0;                    ///< 0: the cores that are free
  int64_t memory_ceiling = 0;         ///< as in QuantizeRequest
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

/// optimize(): only the rewrites of the float model that quantize() makes before calibration.
struct OptimizeRequest {
  std::string model_path;
  std::string output_path;
  std::string config;                 ///< as in QuantizeRequest; empty: the defaults
  std::vector<std::string> settings;  ///< "key=value", stronger than `config`
  std::string calib_folder;  ///< samples; the first checks that outputs stay. Empty: what the config says, or random
  std::vector<std::string> only, skip;  ///< names of passes; `only` empty: those that the settings switch on
  std::string dump_after;               ///< name of a pass; empty: no dump
  int threads = 0;                      ///< 0: the cores that are free
  int64_t memory_ceiling = 0;           ///< as in QuantizeRequest
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
