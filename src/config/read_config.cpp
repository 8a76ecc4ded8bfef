// SPDX-License-Identifier: MIT
// From layers of value trees to QuantConfig: merge, then one reader per top-level key, named in the table kReaders.
#include "config/read_config.h"

#include <algorithm>

#include "base/file_system.h"
#include "base/strings.h"
#include "config/fields.h"
#include "config/load.h"
#include "config/preprocess.h"
#include "config/preset.h"
#include "config/sample_settings.h"
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

Status read_fields(const Node& node, QuantConfig& config) {
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

Status read_options(const Node& node, QuantConfig& config) {
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

Status read_calibration(const Node& node, QuantConfig& config) {
  QQ_RETURN_IF_ERROR(check_keys(
      node, "calibration",
      {"dir", "list", "reader", "random", "allow_non_finite", "raw", "stats", "allow_partial", "allow_other_isa"}));
  CalibrationBlock& block = config.calibration;
  QQ_RETURN_IF_ERROR(read_key(node, "calibration", "dir", block.dir));
  QQ_RETURN_IF_ERROR(read_key(node, "calibration", "list", block.list));
  QQ_RETURN_IF_ERROR(read_key(node, "calibration", "reader", block.reader));
  QQ_RETURN_IF_ERROR(read_key(node, "calibration", "random", block.random));
  QQ_RETURN_IF_ERROR(read_key(node, "calibration", "allow_non_finite", block.allow_non_finite));
  QQ_RETURN_IF_ERROR(read_key(node, "calibration", "stats", block.stats));
  QQ_RETURN_IF_ERROR(read_key(node, "calibration", "allow_partial", block.allow_partial));
  QQ_RETURN_IF_ERROR(read_key(node, "calibration", "allow_other_isa", block.allow_other_isa));
  if (const Node* raw = node.find("raw"); raw != nullptr && !raw->is_null()) {
    QQ_RETURN_IF_ERROR(read_raw_formats(*raw).status());
    block.raw = *raw;
  }
  return check_one_of(block.reader, "calibration.reader", {"npy", "npz", "pb", "raw", "image"});
}

Status read_evaluation(const Node& node, QuantConfig& config) {
  QQ_RETURN_IF_ERROR(check_keys(node, "evaluation", {"dir"}));
  return read_key(node, "evaluation", "dir", config.evaluation_dir);
}

Status read_images(const Node& node, QuantConfig& config) {
  QQ_RETURN_IF_ERROR(read_preprocess(node).status());
  config.preprocess = node;
  return {};
}

Status read_global(const Node& node, QuantConfig& config) {
  QQ_TRY(config.global_config, read_layer_spec(node, "global_config", /*is_global=*/true));
  return {};
}

Status read_specific(const Node& node, QuantConfig& config) {
  QQ_TRY(config.specific_layer_config, read_layer_rules(node, "specific_layer_config", "layers"));
  return {};
}

Status read_types(const Node& node, QuantConfig& config) {
  QQ_TRY(config.layer_type_config, read_layer_rules(node, "layer_type_config", "op_types"));
  return {};
}

Status read_exclude(const Node& node, QuantConfig& config) {
  QQ_TRY(config.exclude, read_exclusions(node, "exclude"));
  return {};
}

Status read_algos(const Node& node, QuantConfig& config) {
  QQ_TRY(config.algo_config, read_algorithms(node, "algo_config"));
  return {};
}

Status read_preset_name(const Node& node, QuantConfig& config) {
  QQ_TRY(const std::string name, read<std::string>(node, "preset"));
  QQ_TRY(const PresetInfo info, find_preset(name));
  config.preset = info.name;
  return {};
}

Status read_target_name(const Node& node, QuantConfig& config) {
  QQ_TRY(config.target, read<std::string>(node, "target"));
  return {};
}

Status read_input_path(const Node& node, QuantConfig& config) {
  QQ_TRY(config.input_model_path, read<std::string>(node, "input_model_path"));
  return {};
}

Status read_output_path(const Node& node, QuantConfig& config) {
  QQ_TRY(config.output_model_path, read<std::string>(node, "output_model_path"));
  return {};
}

Status read_external_data(const Node& node, QuantConfig& config) {
  QQ_TRY(config.fields.use_external_data_format, read<bool>(node, "use_external_data_format"));
  return {};
}

/// The top-level keys in the order in which they are read: quarkq first, because it says whether unknown options pass.
constexpr struct {
  const char* key;
  Status (*read)(const Node&, QuantConfig&);
} kReaders[] = {
    {"quarkq", read_tool},
    {"guards", read_guards},
    {"target", read_target_name},
    {"legalize", read_legalize},
    {"preset", read_preset_name},
    {"input_model_path", read_input_path},
    {"output_model_path", read_output_path},
    {"quant_config", read_fields},
    {"global_config", read_global},
    {"specific_layer_config", read_specific},
    {"layer_type_config", read_types},
    {"exclude", read_exclude},
    {"algo_config", read_algos},
    {"use_external_data_format", read_external_data},
    {"extra_options", read_options},
    {"calibration", read_calibration},
    {"evaluation", read_evaluation},
    {"preprocess", read_images},
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
    const Result<Node> body = preset_body(preset);
    if (body.ok() && body.value() == values) return preset.name;
  }
  return "";
}

/// What is quantized when nobody says: the preset of the target, or nothing.
Node form_of(const Target& target) {
  if (!target.takes_float()) return by_preset(target.preset);
  const Node tool(Node::Map{{"float_result", Node(true), {}}});
  return Node(Node::Map{{"quant_config", Node(Node::Map{}), {}}, {"quarkq", tool, {}}});
}

/// What the strongest layer's target sets, below all of them; its preset when no layer says what is quantized.
Status put_target_below(std::vector<Layer>& layers) {
  const Node* name = strongest(layers, "target");
  if (name == nullptr) return {};
  QQ_TRY(const std::string text, read<std::string>(*name, "target"));
  QQ_TRY(const Target target, load_target(text));
  std::vector<Layer> below;
  const bool has_form = strongest(layers, "preset") != nullptr || strongest(layers, "quant_config") != nullptr ||
                        strongest(layers, "global_config") != nullptr;
  if (!has_form) below.push_back({form_of(target), Origin::kTarget});
  for (const TargetSetting& row : target.settings) {
    QQ_TRY(Node values, parse_set(cat(row.key, "=", to_flow(row.value))));
    below.push_back({std::move(values), Origin::kTarget});
  }
  layers.insert(layers.begin(), below.begin(), below.end());
  return {};
}

/// The strongest layer's preset, as the weakest layer.
Status put_preset_below(std::vector<Layer>& layers) {
  const Node* name = strongest(layers, "preset");
  if (name == nullptr) return {};
  QQ_TRY(const std::string text, read<std::string>(*name, "preset"));
  QQ_TRY(const PresetInfo info, find_preset(text));
  QQ_TRY(const Node body, preset_body(info));
  layers.insert(layers.begin(), Layer{body, Origin::kPreset});
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

std::vector<std::string> top_level_keys() {
  std::vector<std::string> keys;
  for (const auto& reader : kReaders) keys.emplace_back(reader.key);
  return keys;
}

Result<QuantConfig> read_config(std::vector<Layer> layers) {
  QQ_RETURN_IF_ERROR(put_target_below(layers));
  QQ_RETURN_IF_ERROR(put_preset_below(layers));
  Merged merged;
  for (const Layer& layer : layers) QQ_RETURN_IF_ERROR(lay_over(layer, merged));
  QuantConfig config;
  QQ_RETURN_IF_ERROR(choose_mode(merged.values, config));
  config.origins = std::move(merged.origins);
  for (const auto& reader : kReaders) {
    if (const Node* value = merged.values.find(reader.key)) QQ_RETURN_IF_ERROR(reader.read(*value, config));
  }
  return config;
}

bool selects_mode(const std::string& file_or_preset, const std::vector<std::string>& sets) {
  return !file_or_preset.empty() || std::any_of(sets.begin(), sets.end(), [](const std::string& set) {
    return set.starts_with("target=") || set.starts_with("preset=") || set.starts_with("quant_config") ||
           set.starts_with("global_config");
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
    QQ_TRY(const Node values, parse_set(set));
    layers.push_back({values, Origin::kCommandLine});
  }
  return read_config(std::move(layers));
}

// The block "legalize:".

namespace {

/// The checks of legalize.def.
template <int64_t kLeast>
Status at_least(const std::optional<int64_t>& value, const std::string& name) {
  if (!value || *value >= kLeast) return {};
  return invalid_argument(name, ": found ", *value, ", allowed is ", kLeast, " or more");
}

Status any(const std::optional<bool>&, const std::string&) { return {}; }

Status keep_float_or_cut(const std::optional<std::string>& value, const std::string& name) {
  return check_one_of(value, name, {"keep", "float", "cut"});
}

struct LegalizeKey {
  const char* name;
  Status (*read)(const Node& node, const std::string& name, LegalizeBlock& block);
};

constexpr LegalizeKey kKeys[] = {
#define LEGALIZE(member, Type, check, doc)                                        \
  {#member, [](const Node& node, const std::string& name, LegalizeBlock& block) { \
     QQ_RETURN_IF_ERROR(read_key(node, "legalize", name, block.member));          \
     return check(block.member, "legalize." + name);                              \
   }},
#include "config/legalize.def"
};

/// {<input>: [1, 3, 224, 224]}
Status read_shapes(const Node& node, std::map<std::string, std::vector<int64_t>>& shapes) {
  if (!node.is_map()) return wrong_kind(node, "a map from inputs to shapes").context("legalize.shapes");
  for (const Node::Entry& entry : node.entries()) {
    const std::string path = "legalize.shapes." + entry.key;
    QQ_TRY(std::vector<int64_t> dims, read<std::vector<int64_t>>(entry.value, path));
    for (const int64_t dim : dims) {
      if (dim < 1)
        return invalid_argument(entry.value.mark().prefix(), path, ": found ", dim, ", allowed is 1 or more");
    }
    shapes[entry.key] = std::move(dims);
  }
  return {};
}

}  // namespace

Status read_legalize(const Node& node, QuantConfig& config) {
  LegalizeBlock& block = config.legalize;
  std::vector<std::string> names = {"shapes"};
  for (const LegalizeKey& key : kKeys) names.emplace_back(key.name);
  QQ_RETURN_IF_ERROR(check_keys(node, "legalize", names));
  for (const LegalizeKey& key : kKeys) QQ_RETURN_IF_ERROR(key.read(node, key.name, block));
  const Node* shapes = node.find("shapes");
  return shapes == nullptr || shapes->is_null() ? Status() : read_shapes(*shapes, block.shapes);
}

}  // namespace quarkq::config
