// SPDX-License-Identifier: MIT
// inspect(): what a model is, what in it is quantized, and how.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "quarkq/export.h"
#include "quarkq/status.h"

namespace quarkq {

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

struct InspectReport {
  std::string path;
  uint64_t file_bytes = 0;  ///< of the model file, without external data
  int64_t ir_version = 0;
  std::vector<std::pair<std::string, int64_t>> opsets;  ///< "ai.onnx" first, then the domains by name
  std::string producer_name, producer_version;
  std::vector<InspectValue> inputs, outputs;  ///< in the model's order; initializers are no inputs
  size_t nodes = 0;
  std::map<std::string, int> ops;  ///< operators of the main graph; other domains as "domain::Op"
  size_t nested_nodes = 0;         ///< nodes inside If, Loop and Scan bodies, not among `nodes`
  size_t parameter_tensors = 0;    ///< initializers, those of nested graphs included
  uint64_t parameters = 0;         ///< their elements
  uint64_t parameter_bytes = 0;
  std::vector<QuantizedGroup> quantized;   ///< by kind, then type; empty for a float model
  std::map<std::string, int> qdq_domains;  ///< domain ("ai.onnx" for the standard one) -> quantizing nodes in it
};

/// Reads the model at `path`; nothing is run. Fails as loading does: kInvalidArgument, kCorruptModel, kUnsupported.
QUARKQ_EXPORT Result<InspectReport> inspect(const std::string& path);

/// The report as JSON, keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const InspectReport& report);

}  // namespace quarkq
