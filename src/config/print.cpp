// SPDX-License-Identifier: MIT
// Writes QuantConfig in the file's form and Settings as a listing.
#include "config/print.h"

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

Node fields_node(const QuantConfig& config) {
  Node node(Node::Map{});
  for (const Field& field : all_fields()) {
    if (field.is_option()) continue;
    if (const auto value = field.asked(config)) node = node.with(field.name, *value);
  }
  return node;
}

Node options_node(const QuantConfig& config) {
  Node node(Node::Map{});
  for (const Field& field : all_fields()) {
    if (!field.is_option()) continue;
    if (const auto value = field.asked(config)) node = node.with(field.name, *value);
  }
  for (const auto& [name, value] : config.field_keys) node = node.with(name, value);
  for (const auto& [name, value] : config.unknown_options) node = node.with(name, value);
  return node;
}

Node calibration_node(const CalibrationBlock& block) {
  Node node(Node::Map{});
  add(node, "dir", block.dir);
  add(node, "list", block.list);
  add(node, "reader", block.reader);
  add(node, "random", block.random);
  add(node, "allow_non_finite", block.allow_non_finite);
  add(node, "stats", block.stats);
  add(node, "allow_partial", block.allow_partial);
  add(node, "allow_other_isa", block.allow_other_isa);
  if (!block.raw.is_null()) node = node.with("raw", block.raw);
  return node;
}

Node tool_node(const ToolBlock& block) {
  Node node(Node::Map{});
  add(node, "threads", block.threads);
  add(node, "seed", block.seed);
  add(node, "backend", block.backend);
  add(node, "exclude_tracking", block.exclude_tracking);
  add(node, "info_csv", block.info_csv);
  add(node, "allow_unknown_options", block.allow_unknown_options);
  add(node, "compat", block.compat);
  add(node, "guards", block.guards);
  add(node, "on_collapse", block.on_collapse);
  add(node, "rescue", block.rescue);
  add(node, "max_wide", block.max_wide);
  add(node, "max_islands", block.max_islands);
  add(node, "rounding", block.rounding);
  add(node, "equalize_clipped", block.equalize_clipped);
  add(node, "range_headroom", block.range_headroom);
  add(node, "min_cosine", block.min_cosine);
  add(node, "verify_samples", block.verify_samples);
  add(node, "float_result", block.float_result);
  add(node, "metadata", block.metadata);
  return node;
}

Node legalize_node(const LegalizeBlock& block) {
  Node node(Node::Map{});
#define LEGALIZE(member, Type, check, doc) add(node, #member, block.member);
#include "config/legalize.def"
  Node shapes(Node::Map{});
  for (const auto& [input, dims] : block.shapes) shapes = shapes.with(input, Convert<std::vector<int64_t>>::to(dims));
  add_block(node, "shapes", shapes);
  return node;
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
    node = node.with("quant_config", fields_node(config));
  } else {
    node = node.with("global_config", to_node(*config.global_config));
    add(node, "use_external_data_format", config.fields.use_external_data_format);
  }
  add_block(node, "specific_layer_config", list_node(config.specific_layer_config));
  add_block(node, "layer_type_config", list_node(config.layer_type_config));
  add_block(node, "exclude", list_node(config.exclude));
  add_block(node, "algo_config", list_node(config.algo_config));
  add_block(node, "extra_options", options_node(config));
  add_block(node, "calibration", calibration_node(config.calibration));
  if (config.evaluation_dir) node = node.with("evaluation", Node(Node::Map{{"dir", Node(*config.evaluation_dir), {}}}));
  add_block(node, "preprocess", config.preprocess);
  add(node, "target", config.target);
  add_block(node, "legalize", legalize_node(config.legalize));
  add_block(node, "quarkq", tool_node(config.tool));
  return node;
}

std::string to_yaml(const QuantConfig& config) { return to_yaml(to_node(config)); }

std::vector<SettingLine> setting_lines(const Settings& settings) {
  std::vector<SettingLine> lines = {{"quantizer", Node(quantizer_name(settings.quantizer)), Origin::kForced}};
  for (const Field& field : all_fields())
    lines.push_back({field.name, field.value(settings), settings.origin_of(field.name)});
  if (settings.target) lines.push_back({"target", Node(*settings.target), settings.origin_of("target")});
  const std::pair<const char*, Node> blocks[] = {
      {"exclude", list_node(settings.exclude_selectors)},
      {"exclude_op_types", Node::list_of(settings.exclude_op_types)},
      {"specific_layer_config", list_node(settings.specific_layers)},
      {"layer_type_config", list_node(settings.layer_types)},
      {"calibration", calibration_node(settings.calibration)},
      {"preprocess", settings.preprocess},
      {"legalize", legalize_node(settings.legalize)},
      {"quarkq", tool_node(settings.tool)},
  };
  for (const auto& [name, node] : blocks)
    if (!node.entries().empty() || !node.items().empty()) lines.push_back({name, node, Origin::kFile});
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
