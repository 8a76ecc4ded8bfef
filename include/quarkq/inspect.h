// SPDX-License-Identifier: MIT
// inspect(): describes a model, and which of its tensors are quantized and how.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quarkq/status.h"

namespace quarkq {

/// explain(): why a tensor is quantized as it is, or why it stays float.
struct ExplainRequest {
  std::string model_path;
  std::string config;                 ///< A settings file if it exists, otherwise the name of a preset.
  std::vector<std::string> settings;  ///< "key=value"; each overrides `config`.
  std::string name;                   ///< Name of a tensor or node of the model as loaded or after preprocessing.
};

/// One decision: the rule that made it ("op-set", "marker", "absorb-annotated", ...) and its reason.
struct ExplainStep {
  std::string rule, text;
};

struct ExplainedTensor {
  std::string name;                ///< Name of the tensor after preprocessing.
  std::string outcome;             ///< "activation INT8", "weight INT8", ..., "absorbed", "float"
  std::vector<ExplainStep> steps;  ///< In the order of the decisions; empty if no rule applies to the tensor.
};

struct ExplainReport {
  std::string model_path, name;
  std::vector<ExplainedTensor> tensors;  ///< The named tensor, or all inputs and outputs of the named node.
  /// How the name was found: empty if preprocessing kept it, otherwise the change that preprocessing made to the node.
  std::string note;
};

/// Plans the model without samples (therefore without the decisions of calibration and tuning) and reports the
/// decisions about one tensor, or about the tensors of one node. Fails with kInvalidArgument if no tensor or node has
/// the name.
QUARKQ_EXPORT Result<ExplainReport> explain(const ExplainRequest& request);

QUARKQ_EXPORT std::string to_json(const ExplainReport& report);

/// An input or output. `type` reads "FLOAT[N,3,224,224]". Unknown dimensions appear as their symbol or as "?".
struct InspectValue {
  std::string name, type;
};

/// Quantized tensors of one kind and type. A tensor with several Q/DQ pairs counts once.
struct QuantizedGroup {
  std::string kind;   ///< "activation", or "stored" for constants
  std::string type;   ///< Integer type ("INT8"); for block formats the name of the operator.
  int64_t block = 0;  ///< Number of integers along an axis that share a scale; 0: no blocks.
  size_t tensors = 0;
  size_t per_channel = 0;                  ///< Tensors with one scale per channel.
  size_t with_scale = 0;                   ///< Tensors with a constant scale. Block formats have none.
  size_t power_of_two = 0;                 ///< Tensors whose scales are all powers of two.
  int min_position = 0, max_position = 0;  ///< Range of the positions p in scale = 2^-p; meaningful if power_of_two >
                                           ///< 0.
};

/// Number of nodes per type of their inputs, for one operator. Matches the reference's table (ref:evaluation#tables).
struct OperatorTypes {
  std::string op;
  std::map<std::string, int> activation, weights, bias;
};

/// Input types of one node. Empty strings: the input is not quantized.
struct NodeTypes {
  std::string node, op, activation, weights, bias;
};

/// One node as stored in the file. Unnamed nodes have an empty name.
struct InspectNode {
  std::string name, op;              ///< Operators of other domains are written "domain::Op".
  std::vector<InspectValue> inputs;  ///< Includes stored tensors.
  std::vector<InspectValue> outputs;
  uint64_t parameters = 0;  ///< Number of elements in its stored inputs.
  double macs = 0;          ///< Multiply-accumulates for one sample; 0 if the operator has none.
};

/// One quantized tensor and its parameters. Several Q/DQ pairs count once and show the parameters of the first.
struct QuantizedTensor {
  std::string name, kind, type;     ///< `kind` and `type` have the meaning of QuantizedGroup.
  std::vector<double> scales;       ///< One scale, or one per channel; empty if the scale is not constant and for block
                                    ///< formats.
  std::vector<double> zero_points;  ///< One per scale; empty if the model stores none, which means 0.
  int64_t axis = -1;                ///< Channel axis; -1 if one scale applies to the whole tensor.
  int64_t block = 0;                ///< See QuantizedGroup; each block has a scale.
};

/// The quantized tensors of one node. The other inputs and outputs of the node are float.
struct NodeFormats {
  std::string node, op;
  std::vector<QuantizedTensor> inputs;  ///< In the order of the node's inputs; weights and biases are the stored ones.
  std::vector<QuantizedTensor> outputs;
};

/// Returns the position p if `scale` is exactly 2^-p, otherwise nullopt.
QUARKQ_EXPORT std::optional<int> position_of(double scale);

/// Details that inspect() reports in addition to the summary.
struct InspectOptions {
  bool nodes = false;   ///< Names, shapes and types of every node.
  bool scales = false;  ///< Parameters of every quantized tensor.
};

struct InspectReport {
  std::string path;
  uint64_t file_bytes = 0;      ///< Size of the model file.
  uint64_t external_bytes = 0;  ///< Size of the external data files that contain weights.
  int64_t ir_version = 0;
  std::vector<std::pair<std::string, int64_t>> opsets;  ///< "ai.onnx" first, then the other domains sorted by name.
  std::string producer_name, producer_version;
  std::vector<InspectValue> inputs, outputs;  ///< In the order of the model, without initializers.
  size_t nodes = 0;
  std::map<std::string, int> ops;  ///< Number of nodes per operator in the main graph; other domains as "domain::Op".
  size_t nested_nodes = 0;         ///< Nodes inside the bodies of If, Loop and Scan; not counted in `nodes`.
  size_t parameter_tensors = 0;    ///< Number of initializers, including nested graphs.
  uint64_t parameters = 0;         ///< Number of elements of all initializers.
  uint64_t parameter_bytes = 0;
  std::vector<QuantizedGroup> quantized;   ///< Sorted by kind, type and block; empty for a float model.
  std::map<std::string, int> qdq_domains;  ///< Number of quantizing nodes per domain ("ai.onnx" for the standard
                                           ///< domain).
  std::vector<OperatorTypes> op_types;     ///< One entry per operator with quantized inputs, in the order of first use.
  std::vector<NodeTypes> node_types;       ///< Nodes whose first or second input is quantized; filled on request.
  std::vector<InspectNode> node_list;      ///< All nodes of the main graph in the order of the file; filled on request.
  double macs = 0;                         ///< Multiply-accumulates of all nodes for one sample; unknown dimensions
                                           ///< count as 1.
  size_t unsized_macs = 0;                 ///< Nodes whose part of `macs` is too small because shapes are unknown.
  std::vector<QuantizedTensor> tensors;    ///< In the order of the Q and DQ nodes; filled on request.
  InspectOptions options;                  ///< The options of the request.
};

/// Reads the model at `path` without running it. Fails with kInvalidArgument, kCorruptModel or kUnsupported if the
/// model cannot be loaded.
QUARKQ_EXPORT Result<InspectReport> inspect(const std::string& path, const InspectOptions& options = {});

/// Inspects a serialized model. Messages refer to it as `name`.
QUARKQ_EXPORT Result<InspectReport> inspect_bytes(const std::string& model, const std::string& name,
                                                  const InspectOptions& options = {});

/// Returns the report as JSON with keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const InspectReport& report);

}  // namespace quarkq
