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
  std::string model_path;                  ///< If `model_bytes` is set, the name of the model in messages.
  std::optional<std::string> model_bytes;  ///< The serialized model including its weights; replaces the file.
  bool in_memory = false;                  ///< Returns the result in ConvertReport::model and writes no file.
  /// File names ending in .onnxtxt, .pbtxt, .txtpb or .textproto select protobuf's text format, for input and output.
  /// If empty, only the additional files of conversions (weight-histograms) are written.
  std::string output_path;
  /// Conversions in order: "remove-qdq" or "replace-infinities:value=100,..." (`quarkq list conversions`). If empty,
  /// the model is only read, checked and written.
  std::vector<std::string> passes;
  /// Replaces `passes` by a list in the reference's form: a file, a template ("xint8") or JSON text. A list may specify
  /// the model and the output; these apply if the paths above are empty.
  std::string pass_list;
  bool strict = false;         ///< Fail if a pass changes nothing or skips a node that it applies to.
  bool external_data = false;  ///< Store weights in "<file name>.data" next to the model.
  int threads = 0;             ///< Number of threads; 0: one per free core.
  int64_t memory_ceiling = 0;  ///< See QuantizeRequest.
};

/// A node that a pass left unchanged, and the reason.
struct UnconvertedNode {
  std::string node, reason;  ///< "node conv1 (Conv)", "its weights are computed"
};

struct ConvertedPass {
  std::string name;
  std::string claim;   ///< Guarantee for the outputs: "none" (the model is only read), "equal", "rounded" or "other".
  size_t changes = 0;  ///< Number of places changed. Always 1 for passes that `quantize` also runs and that changed the
                       ///< model.
  std::vector<UnconvertedNode> left;
  size_t nodes_before = 0, nodes_after = 0;
  /// Largest difference of an output on a random sample, relative to the largest value of that output. Absent if one of
  /// the models cannot be run.
  std::optional<double> difference;
  double seconds = 0;
};

struct ConvertReport {
  std::string model_path, output_path;
  std::vector<ConvertedPass> passes;  ///< In the order of execution.
  std::vector<std::string> files;     ///< Files written in addition to the model.
  int64_t input_opset = 0, output_opset = 0;
  uint64_t bytes = 0;  ///< Size of the output.
  std::string model;   ///< The serialized result if ConvertRequest::in_memory is set.
  std::vector<Finding> findings;
  double seconds = 0;
};

/// Runs the passes on a model. Afterwards the output file is complete or absent. Fails with kInvalidArgument for an
/// unknown pass or option, before the model is read; with kUnsupported if a pass cannot be applied (the message names
/// pass and node); with kInternal if a pass that guarantees equal outputs changed them on a random sample.
QUARKQ_EXPORT Result<ConvertReport> convert(const ConvertRequest& request);

/// Returns the report as JSON (docs/schemas/convert.schema.json) with keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const ConvertReport& report);

/// import_model(): rewrites a quantized model of another tool for a target with its own scales, or converts it to
/// float.
struct ImportRequest {
  std::string model_path;
  std::string output_path;
  std::vector<std::string> settings;  ///< "key=value"; "target=x2" selects the target.
  bool to_float = false;              ///< Remove the Q/DQ nodes. This is the default for targets that accept float
                                      ///< models.
  int threads = 0;                    ///< Number of threads; 0: one per free core.
  int64_t memory_ceiling = 0;         ///< See QuantizeRequest.
};

struct ImportReport {
  std::string model_path, output_path;
  std::string producer;               ///< Producer stored in the file: "onnx.quantize 0.1.0"; may be empty.
  std::map<std::string, int> before;  ///< Quantizing nodes per operator before the import:
                                      ///< "com.microsoft::QuantizeLinear".
  std::map<std::string, int> after;   ///< Quantizing nodes per operator after the import.
  size_t tensors = 0;                 ///< Number of tensors whose scales were read and, unless the result is float,
                                      ///< preserved.
  int64_t input_opset = 0, output_opset = 0;
  std::optional<double> difference;    ///< Largest difference of an output on a random sample, relative to the largest
                                       ///< value of that output.
  std::optional<TargetReport> target;  ///< Predicted placement of the result; absent without a target.
  uint64_t bytes = 0;                  ///< Size of the output.
  std::vector<Finding> findings;
  double seconds = 0;
};

/// Imports a model. Afterwards the output file is complete or absent. Scales, zero points and stored integers are
/// preserved. Other quantizing nodes (operators on integers, unpaired Q or DQ) are kept and reported. Fails with
/// kUnsupported if the model contains no readable Q/DQ pairs and with kInternal if outputs differ from the original on
/// a random sample; nothing is written then.
QUARKQ_EXPORT Result<ImportReport> import_model(const ImportRequest& request);

/// Returns the report as JSON (docs/schemas/import.schema.json) with keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const ImportReport& report);

/// optimize(): runs only the rewrites of the float model that quantize() applies before calibration.
struct OptimizeRequest {
  std::string model_path;
  std::string output_path;
  std::string config;                 ///< A settings file or preset as in QuantizeRequest; empty: the defaults.
  std::vector<std::string> settings;  ///< "key=value"; each overrides `config`.
  std::string calib_folder;  ///< Folder of samples. The first sample verifies that the outputs are preserved. Empty:
                             ///< the folder of the config, otherwise a random sample.
  std::vector<std::string> only, skip;  ///< Names of passes. If `only` is empty, the passes enabled by the settings
                                        ///< run.
  std::string dump_after;               ///< Name of a pass; empty: no dump.
  int threads = 0;                      ///< Number of threads; 0: one per free core.
  int64_t memory_ceiling = 0;           ///< See QuantizeRequest.
};

struct OptimizeReport {
  std::string model_path, output_path;
  std::vector<PassTime> passes;  ///< The passes that ran and were kept, in order.
  size_t nodes_before = 0, nodes_after = 0;
  uint64_t bytes = 0;  ///< Size of the output.
  std::string dump;    ///< The model after the pass `dump_after`, as text.
  std::vector<Finding> findings;
  double seconds = 0;
  std::string
      tail_path;  ///< File of the float model with the last nodes; empty unless the model was cut (legalize.tail).
};

/// Optimizes a model. Afterwards the output file is complete or absent.
QUARKQ_EXPORT Result<OptimizeReport> optimize(const OptimizeRequest& request);

/// Returns the report as JSON with keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const OptimizeReport& report);

}  // namespace quarkq
