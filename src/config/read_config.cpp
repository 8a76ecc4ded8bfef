// SPDX-License-Identifier: MIT
// From layers of value trees to QuantConfig: merge, then one reader per top-level key, named in the table kReaders.
#include "config/quant_config.h"

#include <algorithm>

#include "base/file_system.h"
#include "base/strings.h"
#include "config/algorithms.h"
#include "config/fields.h"
#include "config/layers.h"
#include "config/load.h"
#include "config/preprocess.h"
#include "config/preset.h"
#include "config/targets/target.h"

namespace quarkq::config {

QuantConfig::QuantConfig() = default;
QuantConfig::QuantConfig(const QuantConfig&) = default;
QuantConfig::QuantConfig(QuantConfig&&) noexcept = default;
QuantConfig& QuantConfig::operator=(const QuantConfig&) = default;
QuantConfig& QuantConfig::operator=(QuantConfig&&) noexcept = default;
QuantConfig::~QuantConfig() = default;

namespace {

using Mode = QuantConfig::Mode;

/// Notes a deprecated spelling, and the two old formats that also decide both types (ref:settings#quantizers).
template <typename E>
void note_deprecated(const Node& node, const std::string& key, QuantConfig& config) {
  const Result<EnumName<E>> row = node.is_text() ? parse_enum<E>(node.as_text()) : Status(Code::kInternal, "");
  if (!row.ok() || !row.value().is_deprecated) return;
  config.findings.add("deprecated-name", key,
                      cat("found ", row.value().text, ", taken as ", enum_text(row.value().value)));
  const std::string text = row.value().text;
  const bool is_bfp = text == "VitisQuantFormat.BFPFixNeuron";
  if (!is_bfp && text != "VitisQuantFormat.MXFixNeuron") return;
  config.fields.activation_type = config.fields.weight_type = is_bfp ? DataType::kBfp : DataType::kMx;
}

Status read_quant_config(const Node& node, QuantConfig& config) {
  QQ_RETURN_IF_ERROR(check_keys(node, "quant_config", field_names()));
  for (const Node::Entry& entry : node.entries()) {
    if (entry.value.is_null()) continue;
    QQ_RETURN_IF_ERROR(find_field(entry.key)->read(entry.value, "quant_config." + entry.key, config));
  }
  for (const char* key : {"activation_type", "weight_type"})
    if (const Node* type = node.find(key)) note_deprecated<DataType>(*type, key, config);
  if (const Node* format = node.find("quant_format")) note_deprecated<QuantFormat>(*format, "quant_format", config);
  return {};
}

Status read_unknown_option(const Node::Entry& entry, QuantConfig& config) {
  const std::string hint = did_you_mean(entry.key, option_names());
  if (!config.tool.allow_unknown_options.value_or(false)) {
    return invalid_argument(entry.key_mark.prefix(), "extra_options.", entry.key, ": unknown option", hint);
  }
  config.findings.add("option-unknown", entry.key, "unknown option, has no effect" + hint);
  config.unknown_options.emplace_back(entry.key, entry.value);
  return {};
}

/// A key such as OptimizeModel: its type is the field's, so a throw-away config reads it.
Status read_field_key(const FieldKey& key, const Node::Entry& entry, QuantConfig& config) {
  QuantConfig scratch;
  QQ_RETURN_IF_ERROR(find_field(key.field)->read(entry.value, "extra_options." + entry.key, scratch));
  config.field_keys.emplace_back(entry.key, entry.value);
  return {};
}

Status read_extra_options(const Node& node, QuantConfig& config) {
  for (const Node::Entry& entry : node.entries()) {
    const Field* field = find_field(entry.key);
    const bool is_option = field != nullptr && field->is_option();
    const bool is_absent = entry.value.is_null() && !(is_option && std::string_view(field->type).ends_with("null"));
    const FieldKey* key = find_field_key(entry.key);
    if (!is_option && key == nullptr) {
      QQ_RETURN_IF_ERROR(read_unknown_option(entry, config));
    } else if (is_absent) {
      continue;
    } else if (key != nullptr) {
      QQ_RETURN_IF_ERROR(read_field_key(*key, entry, config));
    } else {
      QQ_RETURN_IF_ERROR(field->read(entry.value, "extra_options." + entry.key, config));
    }
  }
  return {};
}

/// Reads one of our own blocks by the rows of blocks.def.
Status read_block(const Node& node, const std::string& block, QuantConfig& config) {
  QQ_RETURN_IF_ERROR(check_keys(node, block, keys_of_block(block)));
  for (const Field& field : all_fields()) {
    if (!field.is_of_block() || field.block != block) continue;
    const Node* value = node.find(field.key());
    if (value == nullptr || value->is_null()) continue;
    if (field.allowed.check != nullptr) QQ_RETURN_IF_ERROR(field.allowed.check(*value, field.name));
    QQ_RETURN_IF_ERROR(field.read(*value, field.name, config));
    QQ_RETURN_IF_ERROR(field.allowed.check_value(*value, field.name));
  }
  return {};
}

Status read_preprocess(const Node& node, QuantConfig& config) {
  QQ_RETURN_IF_ERROR(read_preprocess(node).status());
  config.preprocess = node;
  return {};
}

Status read_global_config(const Node& node, QuantConfig& config) {
  QQ_TRY(config.global_config, read_layer_spec(node, "global_config", /*is_global=*/true));
  return {};
}

Status read_specific_layer_config(const Node& node, QuantConfig& config) {
  QQ_TRY(config.specific_layer_config, read_layer_rules(node, "specific_layer_config", "layers"));
  return {};
}

Status read_layer_type_config(const Node& node, QuantConfig& config) {
  QQ_TRY(config.layer_type_config, read_layer_rules(node, "layer_type_config", "op_types"));
  return {};
}

Status read_exclude(const Node& node, QuantConfig& config) {
  QQ_TRY(config.exclude, read_exclusions(node, "exclude"));
  return {};
}

Status read_algo_config(const Node& node, QuantConfig& config) {
  QQ_TRY(config.algo_config, read_algorithms(node, "algo_config"));
  return {};
}

Status read_preset(const Node& node, QuantConfig& config) {
  QQ_TRY(const std::string name, read<std::string>(node, "preset"));
  QQ_TRY(const PresetInfo info, find_preset(name));
  config.preset = info.name;
  return {};
}

Status read_target(const Node& node, QuantConfig& config) {
  QQ_TRY(config.target, read<std::string>(node, "target"));
  return {};
}

Status read_input_model_path(const Node& node, QuantConfig& config) {
  QQ_TRY(config.input_model_path, read<std::string>(node, "input_model_path"));
  return {};
}

Status read_output_model_path(const Node& node, QuantConfig& config) {
  QQ_TRY(config.output_model_path, read<std::string>(node, "output_model_path"));
  return {};
}

Status read_use_external_data_format(const Node& node, QuantConfig& config) {
  QQ_TRY(config.fields.use_external_data_format, read<bool>(node, "use_external_data_format"));
  return {};
}

/// A file may describe itself, as presets do.
Status read_about(const Node& node, QuantConfig&) {
  QQ_RETURN_IF_ERROR(check_keys(node, "about", {"summary", "target", "compiler"}));
  for (const Node::Entry& entry : node.entries())
    QQ_RETURN_IF_ERROR(read<std::string>(entry.value, "about." + entry.key).status());
  return {};
}

/// The other keys at the top of a file, in the order of blocks.def.
constexpr struct {
  const char* key;
  Status (*read)(const Node&, QuantConfig&);
} kReaders[] = {
#define TOP(key, merged, flag) {#key, read_##key},
#include "config/blocks.def"
};

/// The value of a top-level key in the strongest layer that has one; null when no layer has.
const Node* strongest(const std::vector<Layer>& layers, const char* key) {
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const Node* value = layer->values.find(key);
    if (value != nullptr && !value->is_null()) return value;
  }
  return nullptr;
}

Node by_preset(const std::string& name) { return Node(Node::Map{{"preset", Node(name), {}}}); }

/// Returns the name of the preset whose body is `values`: a copy of its file is not the user's own choice of each key.
/// Returns an empty text if there is none.
std::string preset_with(const Node& values) {
  for (const PresetInfo& preset : presets()) {
    if (preset.body == values) return preset.name;
  }
  return "";
}

/// What is quantized when nobody says: the preset of the target, or nothing.
Node form_of(const Target& target) {
  if (!target.takes_float()) return by_preset(target.preset);
  const Node tool(Node::Map{{"float_result", Node(true), {}}});
  return Node(Node::Map{{"quant_config", Node(Node::Map{}), {}}, {"quarkq", tool, {}}});
}

/// Returns whether the strongest layer with the key quarkq.compat requests compat mode.
bool asks_for_compat(const std::vector<Layer>& layers) {
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const Node* block = layer->values.find("quarkq");
    const Node* value = block == nullptr ? nullptr : block->find("compat");
    if (value != nullptr) return !value->is_null();
  }
  return false;
}

/// Adds the target whose compiler the strongest layer's preset is made for, unless a layer names a target. The
/// reference has no targets, so compat mode gets none.
Status add_default_target(std::vector<Layer>& layers) {
  const Node* name = strongest(layers, "preset");
  if (name == nullptr || strongest(layers, "target") != nullptr || asks_for_compat(layers)) return {};
  QQ_TRY(const std::string text, read<std::string>(*name, "preset"));
  QQ_TRY(const PresetInfo info, find_preset(text));
  if (info.compiler.empty()) return {};
  layers.push_back({Node(Node::Map{{"target", Node(info.compiler), {}}}), Origin::kPreset});
  return {};
}

/// Adds what the strongest layer's target sets, and its preset if no layer selects what is quantized.
Status add_target(std::vector<Layer>& layers) {
  const Node* name = strongest(layers, "target");
  if (name == nullptr) return {};
  QQ_TRY(const std::string text, read<std::string>(*name, "target"));
  if (text == kNoTarget) return {};
  QQ_TRY(const Target target, load_target(text));
  const bool has_form = strongest(layers, "preset") != nullptr || strongest(layers, "quant_config") != nullptr ||
                        strongest(layers, "global_config") != nullptr;
  if (!has_form) layers.push_back({form_of(target), Origin::kTarget});
  for (const TargetSetting& row : target.settings) {
    QQ_TRY(Node values, parse_set(cat(row.key, "=", to_flow(row.value))));
    layers.push_back({std::move(values), Origin::kTarget});
  }
  return {};
}

/// Adds the settings of the strongest layer's preset.
Status add_preset(std::vector<Layer>& layers) {
  const Node* name = strongest(layers, "preset");
  if (name == nullptr) return {};
  QQ_TRY(const std::string text, read<std::string>(*name, "preset"));
  QQ_TRY(const PresetInfo info, find_preset(text));
  QQ_TRY(const std::vector<Node> bodies, preset_bodies(info));
  for (const Node& body : bodies) layers.push_back({body, Origin::kPreset});
  return {};
}

/// preset and quant_config select one mode, global_config the other; a file needs exactly one of them
/// (ref:settings#settings-file).
Status choose_mode(const Node& values, QuantConfig& config) {
  const Node* global = values.find("global_config");
  const bool has_fields = values.find("preset") != nullptr || values.find("quant_config") != nullptr;
  if (global != nullptr && has_fields) {
    return invalid_argument(global->mark().prefix(), "global_config: found together with ",
                            values.find("preset") != nullptr ? "preset" : "quant_config",
                            ", allowed is only one of the two");
  }
  if (global == nullptr && !has_fields) {
    return invalid_argument(values.mark().prefix(),
                            "settings: found no preset, quant_config, global_config or target, one is needed");
  }
  config.mode = global != nullptr ? Mode::kLayers : Mode::kFields;
  return {};
}

}  // namespace

Result<QuantConfig> read_config(std::vector<Layer> layers) {
  const auto sort = [&layers] { std::ranges::stable_sort(layers, {}, &Layer::origin); };
  for (Layer& layer : layers) layer.values = without_aliases(layer.values);
  sort();
  QQ_RETURN_IF_ERROR(add_default_target(layers));
  QQ_RETURN_IF_ERROR(add_target(layers));
  sort();
  QQ_RETURN_IF_ERROR(add_preset(layers));
  sort();
  Merged merged;
  for (const Layer& layer : layers) QQ_RETURN_IF_ERROR(lay_over(layer, merged));
  QuantConfig config;
  QQ_RETURN_IF_ERROR(choose_mode(merged.values, config));
  config.origins = std::move(merged.origins);
  for (const std::string& block : own_blocks()) {  // first: quarkq decides whether unknown options are accepted
    if (const Node* value = merged.values.find(block)) QQ_RETURN_IF_ERROR(read_block(*value, block, config));
  }
  if (config.tool.backend == "native") config.tool.backend.reset();
  for (const auto& reader : kReaders) {
    if (const Node* value = merged.values.find(reader.key)) QQ_RETURN_IF_ERROR(reader.read(*value, config));
  }
  return config;
}

bool selects_mode(const std::string& file_or_preset, const std::vector<std::string>& sets) {
  return !file_or_preset.empty() || std::ranges::any_of(sets, [](const std::string& text) {
    const std::string key = setting_of(text).key;
    return key == "target" || key == "preset" || key.starts_with("quant_config") || key.starts_with("global_config");
  });
}

Result<QuantConfig> load_config(const std::string& file_or_preset, const std::vector<std::string>& sets) {
  std::vector<Layer> layers;
  if (file_or_preset.empty()) {
    // the settings' defaults, as far as `sets` says nothing else
  } else if (file_exists(file_or_preset)) {
    QQ_TRY(const Node values, load_file(file_or_preset));
    if (!values.is_map()) return wrong_kind(values, "a map of settings").context(file_or_preset);
    const std::string preset = preset_with(values);
    if (preset.empty()) layers.push_back({values, Origin::kFile});
    if (!preset.empty()) layers.push_back({by_preset(preset), Origin::kPreset});
  } else {
    QQ_TRY(const PresetInfo preset, find_preset(file_or_preset));
    layers.push_back({by_preset(preset.name), Origin::kPreset});
  }
  for (const std::string& set : sets) {
    QQ_TRY(Layer layer, read_layer(set));
    layers.push_back(std::move(layer));
  }
  return read_config(std::move(layers));
}

}  // namespace quarkq::config
