// SPDX-License-Identifier: MIT
// The typed form of global_config, specific_layer_config, layer_type_config, exclude and algo_config
// (ref:settings#tensor-specs, ref:settings#algorithms, ref:settings#layer-settings).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/enums.h"
#include "config/node.h"

namespace quarkq::config {

/// How one tensor is quantized. Omitted fields come from the spec class of the data type.
struct TensorSpec {
  std::string data_type;  ///< a name of ref:settings#data-types: "Int8", "MXFP8E4M3"
  DataType type = DataType::kInt8;
  bool symmetric = true;
  ScaleType scale_type = ScaleType::kFloat32;
  CalibMethod calibration_method = CalibMethod::kPercentile;
  QuantGranularity quant_granularity = QuantGranularity::kTensor;
};

struct LayerSpec {
  std::optional<TensorSpec> input_tensors, weight, bias, output_tensors;
};

/// Selects nodes: one name, all names that match a pattern, or the nodes between starts and ends
/// (ref:settings#node-selectors, ref:settings#subgraphs).
struct Selector {
  enum class Kind { kName, kPattern, kSubgraph };
  Kind kind = Kind::kName;
  std::string text;  ///< A name or a pattern.
  std::vector<std::string> starts, ends;
};

/// One entry of specific_layer_config (layers) or layer_type_config (op_types).
struct LayerRule {
  std::optional<LayerSpec> config;  ///< Absent: keep these op types in float.
  std::vector<Selector> layers;
  std::vector<std::string> op_types;
};

/// One entry of algo_config: a name of algorithms.h and its parameters in snake_case.
struct Algorithm {
  std::string name;
  Node params{Node::Map{}};
};

/// A row of the table of spec classes (ref:settings#data-types).
struct SpecClass {
  const char* name;       ///< "XInt8Spec"
  const char* data_type;  ///< "Int8"
  DataType type;
  bool symmetric;
  ScaleType scale_type;
  CalibMethod calibration_method;
};
const std::vector<SpecClass>& spec_classes();

Result<TensorSpec> read_tensor_spec(const Node& node, const std::string& path);
/// `is_global`: the form whose input_tensors and weight are mandatory.
Result<LayerSpec> read_layer_spec(const Node& node, const std::string& path, bool is_global);
/// Entries without names are omitted.
Result<std::vector<LayerRule>> read_layer_rules(const Node& node, const std::string& path, const std::string& list_key);
Result<std::vector<Selector>> read_selectors(const Node& node, const std::string& path);
/// Reads `exclude`: a list of selectors, or {node_names: [...], subgraphs: [...]} as in JSON files of the compiler's
/// vendor.
Result<std::vector<Selector>> read_exclusions(const Node& node, const std::string& path);

Node to_node(const TensorSpec& spec);
Node to_node(const LayerSpec& spec);
Node to_node(const LayerRule& rule);
Node to_node(const Selector& selector);
Node to_node(const Algorithm& algorithm);

}  // namespace quarkq::config
