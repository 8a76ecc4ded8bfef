// SPDX-License-Identifier: MIT
// Writes QuantConfig in the file's form and Settings as a listing.
#include "config/print.h"

#include <algorithm>

#include "config/fields.h"

namespace quarkq::config {
namespace {

template <typename T>
Node list_node(const std::vector<T>& all) {
  Node::List items;
  for (const T& one : all) items.push_back(to_node(one));
  return Node(std::move(items));
}

template <typename T>
void add(Node& map, const std::string& key, const std::optional<T>& value) {
  if (value) map = map.with(key, Convert<T>::to(*value));
}

/// Adds a block unless it is empty.
void add_block(Node& map, const std::string& key, const Node& block) {
  if (!block.entries().empty() || !block.items().empty()) map = map.with(key, block);
}

/// The values of one block that were asked for.
Node asked_node(const QuantConfig& config, std::string_view block) {
  Node node(Node::Map{});
  for (const Field& field : all_fields()) {
    if (field.block != block) continue;
    if (const auto value = field.asked(config)) node = node.with(field.key(), *value);
  }
  return node;
}

Node options_node(const QuantConfig& config) {
  Node node = asked_node(config, "extra_options");
  for (const auto& [name, value] : config.field_keys) node = node.with(name, value);
  for (const auto& [name, value] : config.unknown_options) node = node.with(name, value);
  return node;
}

/// The values of one of our own blocks that apply. Absent values are left out, and defaults that nobody asked for.
Node block_node(const Settings& settings, std::string_view block) {
  Node node(Node::Map{});
  for (const Field& field : all_fields()) {
    if (!field.is_of_block() || field.block != block) continue;
    const Node value = field.value(settings), by_default = literal(field.by_default);
    const bool is_default = value == by_default && settings.origin_of(field.name) == Origin::kDefault;
    if (!is_default && !value.is_null() && !(value.is_map() && value.entries().empty()))
      node = node.with(field.key(), value);
  }
  return node;
}

/// Origin of what several keys decide together: the strongest.
Origin strongest_of(const Settings& settings, std::initializer_list<const char*> names) {
  Origin origin = Origin::kDefault;
  for (const char* name : names) origin = std::max(origin, settings.origin_of(name));
  return origin;
}

Node findings_node(const Diagnostics& diagnostics) {
  Node::List items;
  for (const Diagnostic& one : diagnostics.all()) {
    const DiagnosticInfo* row = find_diagnostic(one.id);
    items.emplace_back(Node::Map{{"severity", Node(severity_name(one.severity)), {}},
                                 {"id", Node(one.id), {}},
                                 {"subject", Node(one.subject), {}},
                                 {"text", Node(one.text), {}},
                                 {"remedy", Node(std::string(row == nullptr ? "" : row->remedy)), {}}});
  }
  return Node(std::move(items));
}

}  // namespace

Node to_node(const QuantConfig& config) {
  Node node(Node::Map{});
  add(node, "input_model_path", config.input_model_path);
  add(node, "output_model_path", config.output_model_path);
  if (config.mode == QuantConfig::Mode::kFields) {
    node = node.with("quant_config", asked_node(config, "quant_config"));
  } else {
    node = node.with("global_config", to_node(*config.global_config));
    add(node, "use_external_data_format", config.fields.use_external_data_format);
  }
  add_block(node, "specific_layer_config", list_node(config.specific_layer_config));
  add_block(node, "layer_type_config", list_node(config.layer_type_config));
  add_block(node, "exclude", list_node(config.exclude));
  add_block(node, "algo_config", list_node(config.algo_config));
  add_block(node, "extra_options", options_node(config));
  for (const char* block : {"calibration", "evaluation"}) add_block(node, block, asked_node(config, block));
  add_block(node, "preprocess", config.preprocess);
  add(node, "target", config.target);
  for (const char* block : {"legalize", "quarkq"}) add_block(node, block, asked_node(config, block));
  return node;
}

std::string to_yaml(const QuantConfig& config) { return to_yaml(to_node(config)); }

std::vector<SettingLine> whole_settings(const Settings& settings) {
  std::vector<SettingLine> lines = {{"quantizer", Node(quantizer_name(settings.quantizer)), Origin::kForced}};
  for (const Field& field : all_fields()) {
    if (!field.is_of_block()) lines.push_back({field.name, field.value(settings), settings.origin_of(field.name)});
  }
  if (settings.target) lines.push_back({"target", Node(*settings.target), settings.origin_of("target")});
  const SettingLine blocks[] = {
      {"exclude", list_node(settings.exclude_selectors),
       strongest_of(settings, {"nodes_to_exclude", "subgraphs_to_exclude", "exclude"})},
      {"exclude_op_types", Node::list_of(settings.exclude_op_types), settings.origin_of("layer_type_config")},
      {"specific_layer_config", list_node(settings.specific_layers), settings.origin_of("specific_layer_config")},
      {"layer_type_config", list_node(settings.layer_types), settings.origin_of("layer_type_config")},
      {"calibration", block_node(settings, "calibration")},
      {"evaluation", block_node(settings, "evaluation")},
      {"preprocess", settings.preprocess},
      {"legalize", block_node(settings, "legalize")},
      {"quarkq", block_node(settings, "quarkq")},
  };
  for (const SettingLine& block : blocks) {
    if (block.value.entries().empty() && block.value.items().empty()) continue;
    lines.push_back(block);
    for (const Node::Entry& entry : block.value.entries())
      lines.back().origin = std::max(lines.back().origin, settings.origin_of(block.name + "." + entry.key));
  }
  return lines;
}

std::vector<SettingLine> setting_lines(const Settings& settings) {
  std::vector<SettingLine> lines;
  for (const SettingLine& line : whole_settings(settings)) {
    const bool is_block = find_field(line.name) == nullptr && line.value.is_map();
    if (!is_block) lines.push_back(line);
    for (const Node::Entry& entry : is_block ? line.value.entries() : Node::Map()) {
      const std::string name = line.name + "." + entry.key;
      lines.push_back({name, entry.value, settings.origin_of(name)});
    }
  }
  return lines;
}

std::string resolved_text(const Settings& settings, const std::string& prefix) {
  std::string text;
  for (const SettingLine& line : setting_lines(settings)) {
    text += cat(prefix, line.name, ": ", to_flow(line.value), "  (", origin_name(line.origin), ")\n");
  }
  return text;
}

Node resolved_node(const Settings& settings) {
  Node::Map entries;
  for (const SettingLine& line : setting_lines(settings)) {
    Node value(Node::Map{{"value", line.value, {}}, {"origin", Node(origin_name(line.origin)), {}}});
    entries.push_back({line.name, std::move(value), {}});
  }
  return Node(std::move(entries));
}

std::string severity_name(Severity severity) { return severity == Severity::kWarning ? "warning" : "notice"; }

std::string to_json(const QuantConfig& asked, const Result<Settings>& settings, const Diagnostics& findings) {
  Node result(Node::Map{{"asked", to_node(asked), {}}});
  if (settings.ok()) result = result.with("resolved", resolved_node(settings.value()));
  if (!settings.ok()) result = result.with("not_supported", Node(settings.status().message()));
  return to_json(result.with("findings", findings_node(findings)));
}

std::string to_json(const Diagnostics& findings) {
  return to_json(Node(Node::Map{{"ok", Node(true), {}}, {"findings", findings_node(findings), {}}}));
}

std::string to_json(const std::vector<TextRow>& rows) {
  Node::List items;
  for (const TextRow& row : rows) {
    Node::Map entries;
    for (const auto& [column, text] : row) entries.push_back({column, Node(text), {}});
    items.emplace_back(std::move(entries));
  }
  return to_json(Node(std::move(items)));
}

}  // namespace quarkq::config
