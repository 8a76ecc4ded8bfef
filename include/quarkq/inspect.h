// SPDX-License-Identifier: MIT
// inspect(): what a model is, what in it is quantized, and how.
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

/// An input or output. `type` reads "FLOAT[N,3,224,224]": unknown dimensions by their symbol, or "?".
struct InspectValue {
  std::string name, type;
};

/// Quantized tensors of one kind and type. A tensor with several Q/DQ pairs counts once.
struct QuantizedGroup {
  std::string kind;  ///< "activation", or "stored" for constants
  std::string type;  ///< of the integers, "INT8"; of block formats the operator's name
  size_t tensors = 0;
  size_t per_channel = 0;                  ///< of them with a scale per channel
  size_t with_scale = 0;                   ///< of them with a constant scale; block formats have none
  size_t power_of_two = 0;                 ///< of them with scales that are all powers of two
  int min_position = 0, max_position = 0;  ///< those scales are 2^-position; meaningful when power_of_two > 0
};

/// Types of what a kind of node reads, as the reference's table has them (ref:evaluation#tables): type -> nodes.
struct OperatorTypes {
  std::string op;
  std::map<std::string, int> activation, weights, bias;
};

/// The same of one node; empty where nothing is quantized.
struct NodeTypes {
  std::string node, op, activation, weights, bias;
};

/// One node as the file has it. Names of unnamed nodes are empty.
struct InspectNode {
  std::string name, op;              ///< other domains as "domain::Op"
  std::vector<InspectValue> inputs;  ///< stored tensors included
  std::vector<InspectValue> outputs;
  uint64_t parameters = 0;  ///< elements of its stored inputs
  double macs = 0;          ///< multiply-accumulates of one sample; 0 also for operators that have none
};

/// One quantized tensor and its parameters. Several Q/DQ pairs count once, as their first.
struct QuantizedTensor {
  std::string name, kind, type;     ///< kind and type as in QuantizedGroup
  std::vector<double> scales;       ///< one, or one per channel; empty: block formats, or not constant
  std::vector<double> zero_points;  ///< as many; empty: none given, which means 0
  int64_t axis = -1;                ///< of the channels; -1: one scale for all
};

/// The quantized tensors of one node; the others that it reads and writes are float.
struct NodeFormats {
  std::string node, op;
  std::vector<QuantizedTensor> inputs;  ///< in the order of the node; stored ones are its weights and biases
  std::vector<QuantizedTensor> outputs;
};

/// position when `scale` is 2^-position.
QUARKQ_EXPORT std::optional<int> position_of(double scale);

/// What to report beside the summary.
struct InspectOptions {
  bool nodes = false;   ///< names, shapes and types node by node
  bool scales = false;  ///< parameters tensor by tensor
};

struct InspectReport {
  std::string path;
  uint64_t file_bytes = 0;      ///< of the model file
  uint64_t external_bytes = 0;  ///< of the files beside it that hold weights
  int64_t ir_version = 0;
  std::vector<std::pair<std::string, int64_t>> opsets;  ///< "ai.onnx" first, then the domains by name
  std::string producer_name, producer_version;
  std::vector<InspectValue> inputs, outputs;  ///< in the model's order, without initializers
  size_t nodes = 0;
  std::map<std::string, int> ops;  ///< operators of the main graph; other domains as "domain::Op"
  size_t nested_nodes = 0;         ///< nodes inside If, Loop and Scan bodies, not among `nodes`
  size_t parameter_tensors = 0;    ///< initializers, those of nested graphs included
  uint64_t parameters = 0;         ///< their elements
  uint64_t parameter_bytes = 0;
  std::vector<QuantizedGroup> quantized;   ///< by kind, then type; empty for a float model
  std::map<std::string, int> qdq_domains;  ///< domain ("ai.onnx" for the standard one) -> quantizing nodes in it
  std::vector<OperatorTypes> op_types;     ///< operators of such nodes, in first-seen order
  std::vector<NodeTypes> node_types;       ///< nodes whose first or second input is quantized; on request
  std::vector<InspectNode> node_list;      ///< every node of the main graph, in the order of the file; on request
  double macs = 0;                         ///< of all nodes, for one sample; unknown dimensions count as 1
  size_t unsized_macs = 0;                 ///< nodes whose part in `macs` is too small, because shapes are not known
  std::vector<QuantizedTensor> tensors;    ///< in the order of their Q or DQ nodes; on request
  InspectOptions options;                  ///< what was requested
};

/// Reads the model at `path`; nothing is run. Fails as loading does: kInvalidArgument, kCorruptModel, kUnsupported.
QUARKQ_EXPORT Result<InspectReport> inspect(const std::string& path, const InspectOptions& options = {});

/// The same for a serialized model; messages call it `name`.
QUARKQ_EXPORT Result<InspectReport> inspect_bytes(const std::string& model, const std::string& name,
                                                  const InspectOptions& options = {});

/// The report as JSON, keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const InspectReport& report);

}  // namespace quarkq
