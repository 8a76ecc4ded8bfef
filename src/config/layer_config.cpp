// SPDX-License-Identifier: MIT
// Reads and writes layer_config.h's structs. The table of spec classes is ref:settings#data-types; a tensor spec is a
// class name, or a map whose missing fields come from the class of its data type.
#include "config/layer_config.h"

#include "base/strings.h"
#include "config/convert.h"

namespace quarkq::config {
namespace {

using SC = ScaleType;
using CM = CalibMethod;

std::vector<std::string> spec_names() {
  std::vector<std::string> names;
  for (const SpecClass& row : spec_classes()) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> data_type_names() {
  std::vector<std::string> names;
  for (const SpecClass& row : spec_classes()) names.emplace_back(row.data_type);
  return names;
}

/// The row whose column equals the text of `node`; the first one, so "Int8" means Int8Spec and not XInt8Spec.
Result<SpecClass> find_spec(const Node& node, const std::string& path, const char* SpecClass::*column) {
  QQ_TRY(const std::string text, read<std::string>(node, path));
  for (const SpecClass& row : spec_classes())
    if (row.*column == text) return row;
  const bool is_class = column == &SpecClass::name;
  const std::vector<std::string> names = is_class ? spec_names() : data_type_names();
  std::string hint = did_you_mean(text, names);
  if (hint.empty()) hint = ", allowed are " + join(names, ", ");
  return invalid_argument(node.mark().prefix(), path, ": found ", text, is_class ? ", no spec class" : ", no data type",
                          hint);
}

TensorSpec spec_of(const SpecClass& row) {
  return {row.data_type, row.type, row.symmetric, row.scale_type, row.calibration_method, QuantGranularity::kTensor};
}

/// The defaults of a tensor spec given as a map: of its class, else of its data type.
Result<TensorSpec> spec_base(const Node& node, const std::string& path) {
  const Node* spec = node.find("spec");
  const Node* type = node.find("data_type");
  if (spec == nullptr && type == nullptr)
    return invalid_argument(node.mark().prefix(), path, ": needs spec or data_type");
  const bool by_class = spec != nullptr;
  QQ_TRY(const SpecClass row, by_class ? find_spec(*spec, path + ".spec", &SpecClass::name)
                                       : find_spec(*type, path + ".data_type", &SpecClass::data_type));
  TensorSpec base = spec_of(row);
  if (!by_class || type == nullptr) return base;
  QQ_TRY(const SpecClass other, find_spec(*type, path + ".data_type", &SpecClass::data_type));
  base.data_type = other.data_type;
  base.type = other.type;
  return base;
}

template <typename T>
Status read_member(const Node& node, const std::string& path, const char* key, T& member) {
  const Node* value = node.find(key);
  if (value == nullptr || value->is_null()) return {};
  QQ_TRY(member, read<T>(*value, path + "." + key));
  return {};
}

Status read_role(const Node& node, const std::string& path, const char* key, std::optional<TensorSpec>& role) {
  const Node* value = node.find(key);
  if (value == nullptr || value->is_null()) return {};
  QQ_TRY(role, read_tensor_spec(*value, path + "." + key));
  return {};
}

/// Entries of specific_layer_config have a second spelling, target_node_names and layer_config, in JSON files of the
/// compiler's vendor (ref:settings#layer-settings).
Result<LayerRule> read_layer_rule(const Node& node, const std::string& path, const std::string& list_key) {
  const bool is_pair = node.is_list() && node.items().size() == 2;
  const bool is_by_type = list_key == "op_types";
  const bool is_vendors =
      !is_by_type && (node.find("layer_config") != nullptr || node.find("target_node_names") != nullptr);
  const std::string config_key = is_vendors ? "layer_config" : "config";
  const std::string names_key = is_vendors ? "target_node_names" : list_key;
  if (!is_pair) QQ_RETURN_IF_ERROR(check_keys(node, path, {config_key, names_key}));
  const Node* config = is_pair ? &node.items()[0] : node.find(config_key);
  const Node* names = is_pair ? &node.items()[1] : node.find(names_key);
  if (names == nullptr) return invalid_argument(node.mark().prefix(), path, ": needs ", names_key);
  LayerRule rule;
  if (config != nullptr && !config->is_null()) {
    QQ_TRY(rule.config, read_layer_spec(*config, path + ".config", /*is_global=*/false));
  }
  if (!rule.config && !is_by_type) return invalid_argument(node.mark().prefix(), path, ": needs config");
  if (is_by_type) {
    QQ_TRY(rule.op_types, read<std::vector<std::string>>(*names, path + ".op_types"));
  } else {
    QQ_TRY(rule.layers, read_selectors(*names, path + ".layers"));
  }
  return rule;
}

Result<Selector> read_selector(const Node& node, const std::string& path) {
  if (node.is_text()) {
    const auto kind = node.as_text().starts_with('^') ? Selector::Kind::kPattern : Selector::Kind::kName;
    return Selector{kind, node.as_text(), {}, {}};
  }
  const bool is_pair = node.is_list() && node.items().size() == 2;
  if (!is_pair && !node.is_map()) {
    return wrong_kind(node, "a name, a ^pattern.*, [[starts], [ends]] or {starts: [], ends: []}")
        .context(node.mark().prefix() + path);
  }
  if (!is_pair) QQ_RETURN_IF_ERROR(check_keys(node, path, {"starts", "ends"}));
  const Node* starts = is_pair ? &node.items()[0] : node.find("starts");
  const Node* ends = is_pair ? &node.items()[1] : node.find("ends");
  if (starts == nullptr || ends == nullptr)
    return invalid_argument(node.mark().prefix(), path, ": needs starts and ends");
  Selector selector{Selector::Kind::kSubgraph, "", {}, {}};
  QQ_TRY(selector.starts, read<std::vector<std::string>>(*starts, path + ".starts"));
  QQ_TRY(selector.ends, read<std::vector<std::string>>(*ends, path + ".ends"));
  return selector;
}

}  // namespace

const std::vector<SpecClass>& spec_classes() {
  static const std::vector<SpecClass> rows = {
      {"Int8Spec", "Int8", DataType::kInt8, true, SC::kFloat32, CM::kPercentile},
      {"XInt8Spec", "Int8", DataType::kInt8, true, SC::kPowerOf2, CM::kMinMSE},
      {"UInt8Spec", "UInt8", DataType::kUInt8, false, SC::kFloat32, CM::kPercentile},
      {"Int16Spec", "Int16", DataType::kInt16, true, SC::kFloat32, CM::kPercentile},
      {"UInt16Spec", "UInt16", DataType::kUInt16, false, SC::kFloat32, CM::kPercentile},
      {"Int32Spec", "Int32", DataType::kInt32, true, SC::kFloat32, CM::kPercentile},
      {"UInt32Spec", "UInt32", DataType::kUInt32, false, SC::kFloat32, CM::kPercentile},
      {"Float16Spec", "Float16", DataType::kFloat16, true, SC::kFloat32, CM::kMinMax},
      {"BFloat16Spec", "BFloat16", DataType::kBFloat16, true, SC::kFloat32, CM::kMinMax},
      {"BFP16Spec", "BFP16", DataType::kBfp, true, SC::kFloat32, CM::kMinMax},
      {"MX4Spec", "MX4", DataType::kBfp, true, SC::kFloat32, CM::kMinMax},
      {"MX6Spec", "MX6", DataType::kBfp, true, SC::kFloat32, CM::kMinMax},
      {"MX9Spec", "MX9", DataType::kBfp, true, SC::kFloat32, CM::kMinMax},
      {"MXFP4E2M1Spec", "MXFP4E2M1", DataType::kMx, true, SC::kFloat32, CM::kMinMax},
      {"MXFP6E3M2Spec", "MXFP6E3M2", DataType::kMx, true, SC::kFloat32, CM::kMinMax},
      {"MXFP6E2M3Spec", "MXFP6E2M3", DataType::kMx, true, SC::kFloat32, CM::kMinMax},
      {"MXFP8E5M2Spec", "MXFP8E5M2", DataType::kMx, true, SC::kFloat32, CM::kMinMax},
      {"MXFP8E4M3Spec", "MXFP8E4M3", DataType::kMx, true, SC::kFloat32, CM::kMinMax},
      {"MXInt8Spec", "MXInt8", DataType::kMx, true, SC::kFloat32, CM::kMinMax},
  };
  return rows;
}

Result<TensorSpec> read_tensor_spec(const Node& node, const std::string& path) {
  if (node.is_text()) {
    QQ_TRY(const SpecClass row, find_spec(node, path, &SpecClass::name));
    return spec_of(row);
  }
  QQ_RETURN_IF_ERROR(check_keys(
      node, path, {"spec", "data_type", "symmetric", "scale_type", "calibration_method", "quant_granularity"}));
  QQ_TRY(TensorSpec spec, spec_base(node, path));
  QQ_RETURN_IF_ERROR(read_member(node, path, "symmetric", spec.symmetric));
  QQ_RETURN_IF_ERROR(read_member(node, path, "scale_type", spec.scale_type));
  QQ_RETURN_IF_ERROR(read_member(node, path, "calibration_method", spec.calibration_method));
  QQ_RETURN_IF_ERROR(read_member(node, path, "quant_granularity", spec.quant_granularity));
  return spec;
}

Result<LayerSpec> read_layer_spec(const Node& node, const std::string& path, bool is_global) {
  QQ_RETURN_IF_ERROR(check_keys(node, path, {"input_tensors", "activation", "weight", "bias", "output_tensors"}));
  LayerSpec spec;
  std::optional<TensorSpec> activation;
  QQ_RETURN_IF_ERROR(read_role(node, path, "input_tensors", spec.input_tensors));
  QQ_RETURN_IF_ERROR(read_role(node, path, "activation", activation));
  QQ_RETURN_IF_ERROR(read_role(node, path, "weight", spec.weight));
  QQ_RETURN_IF_ERROR(read_role(node, path, "bias", spec.bias));
  QQ_RETURN_IF_ERROR(read_role(node, path, "output_tensors", spec.output_tensors));
  const std::string where = node.mark().prefix() + path;
  if (activation && spec.input_tensors) {
    return invalid_argument(where, ": found activation and input_tensors, allowed is only one of the two");
  }
  if (activation && !is_global) return invalid_argument(where, ": found activation, allowed is input_tensors");
  if (activation) spec.input_tensors = activation;
  if (is_global && !spec.input_tensors) return invalid_argument(where, ": needs input_tensors");
  if (is_global && !spec.weight) return invalid_argument(where, ": needs weight");
  return spec;
}

Result<std::vector<LayerRule>> read_layer_rules(const Node& node, const std::string& path,
                                                const std::string& list_key) {
  QQ_TRY(std::vector<LayerRule> rules,
         read_list<LayerRule>(node, path, [&](const Node& item, const std::string& item_path) {
           return read_layer_rule(item, item_path, list_key);
         }));
  std::erase_if(rules, [](const LayerRule& rule) { return rule.layers.empty() && rule.op_types.empty(); });
  return rules;
}

Result<std::vector<Selector>> read_exclusions(const Node& node, const std::string& path) {
  if (!node.is_map()) return read_selectors(node, path);
  QQ_RETURN_IF_ERROR(check_keys(node, path, {"node_names", "subgraphs"}));
  std::vector<Selector> all;
  for (const char* key : {"node_names", "subgraphs"}) {
    const Node* part = node.find(key);
    if (part == nullptr) continue;
    QQ_TRY(std::vector<Selector> selectors, read_selectors(*part, cat(path, ".", key)));
    all.insert(all.end(), std::make_move_iterator(selectors.begin()), std::make_move_iterator(selectors.end()));
  }
  return all;
}

Result<std::vector<Selector>> read_selectors(const Node& node, const std::string& path) {
  return read_list<Selector>(node, path, read_selector);
}

Node to_node(const TensorSpec& spec) {
  return Node(Node::Map{{"data_type", Node(spec.data_type), {}},
                        {"symmetric", Node(spec.symmetric), {}},
                        {"scale_type", Node(enum_text(spec.scale_type)), {}},
                        {"calibration_method", Node(enum_text(spec.calibration_method)), {}},
                        {"quant_granularity", Node(enum_text(spec.quant_granularity)), {}}});
}

Node to_node(const LayerSpec& spec) {
  Node node(Node::Map{});
  if (spec.input_tensors) node = node.with("input_tensors", to_node(*spec.input_tensors));
  if (spec.weight) node = node.with("weight", to_node(*spec.weight));
  if (spec.bias) node = node.with("bias", to_node(*spec.bias));
  if (spec.output_tensors) node = node.with("output_tensors", to_node(*spec.output_tensors));
  return node;
}

Node to_node(const LayerRule& rule) {
  Node node(Node::Map{});
  node = node.with("config", rule.config ? to_node(*rule.config) : Node());
  if (rule.layers.empty()) return node.with("op_types", Node::list_of(rule.op_types));
  Node::List layers;
  for (const Selector& selector : rule.layers) layers.push_back(to_node(selector));
  return node.with("layers", Node(std::move(layers)));
}

Node to_node(const Selector& selector) {
  if (selector.kind != Selector::Kind::kSubgraph) return Node(selector.text);
  return Node(Node::List{Node::list_of(selector.starts), Node::list_of(selector.ends)});
}

Node to_node(const Algorithm& algorithm) {
  Node node(Node::Map{{"name", Node(algorithm.name), {}}});
  for (const Node::Entry& entry : algorithm.params.entries()) node = node.with(entry.key, entry.value);
  return node;
}

}  // namespace quarkq::config
