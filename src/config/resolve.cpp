// SPDX-License-Identifier: MIT
// The order of resolving, and the plain part of it: what was asked replaces the default.
#include "config/resolve.h"

#include "base/check.h"
#include "config/resolve_steps.h"

namespace quarkq::config {

Settings::Settings() = default;
Settings::Settings(const Settings&) = default;
Settings::Settings(Settings&&) noexcept = default;
Settings& Settings::operator=(const Settings&) = default;
Settings& Settings::operator=(Settings&&) noexcept = default;
Settings::~Settings() = default;

namespace {

/// Keys such as OptimizeModel set their field, unless quant_config itself sets it at least as strongly. Beside preset
/// and quant_config the reference ignores them (ref:settings#quant-config-fields).
Status take_field_keys(Resolving& r) {
  for (const auto& [name, value] : r.config.field_keys) {
    const std::string field = find_field_key(name)->field;
    const bool is_ignored = r.config.mode == QuantConfig::Mode::kFields && !r.settings.quirk(Quirk::kTakeFieldKeys);
    if (is_ignored) {
      r.diagnostics.add("option-no-effect", name, cat("has no effect beside quant_config, set quant_config.", field));
      continue;
    }
    const Origin origin = r.config.origin_of(name);
    const bool is_weaker = r.config.origins.contains(field) && r.config.origin_of(field) >= origin;
    if (!is_weaker) QQ_RETURN_IF_ERROR(set_value(r.settings, field, value, origin));
  }
  return {};
}

}  // namespace

Status set_value(Settings& settings, const std::string& name, const Node& value, Origin origin) {
  const Field* field = find_field(name);
  QQ_CHECK(field != nullptr);
  QQ_RETURN_IF_ERROR(field->assign(value, settings).context(value.mark().prefix() + name));
  settings.origins[name] = origin;
  return {};
}

void force(Resolving& r, const std::string& name, const Node& value) {
  const Status status = set_value(r.settings, name, value, Origin::kForced);
  QQ_CHECK(status.ok());
}

Node value_of(const Settings& settings, const std::string& name) {
  const Field* field = find_field(name);
  QQ_CHECK(field != nullptr);
  return field->value(settings);
}

std::string origin_note(const Settings& settings, const std::string& name) {
  const Origin origin = settings.origin_of(name);
  if (origin == Origin::kDefault) return "";
  if (origin == Origin::kPreset) return cat(" (preset ", settings.preset, ")");
  return cat(" (", origin_name(origin), ")");
}

void take_defaults(Resolving& r) {
  for (const Field& field : all_fields()) {
    if (field.depends()) continue;
    const Status status = field.assign(literal(field.by_default), r.settings);
    QQ_CHECK(status.ok());
  }
}

Status take_fields_and_options(Resolving& r) {
  for (const Field& field : all_fields()) {
    const std::optional<Node> asked = field.asked(r.config);
    if (asked) QQ_RETURN_IF_ERROR(set_value(r.settings, field.name, *asked, r.config.origin_of(field.name)));
  }
  return take_field_keys(r);
}

Result<Settings> resolve(const QuantConfig& config, const ModelFacts& facts, Diagnostics& diagnostics) {
  for (const Diagnostic& finding : config.findings.all()) {
    diagnostics.add(finding);
  }
  Resolving r{config, facts, diagnostics, {}};
  r.settings.mode = config.mode;
  r.settings.preset = config.preset;
  r.settings.tool = config.tool;
  r.settings.legalize = config.legalize;
  r.settings.target = config.target;
  r.settings.compat = config.is_compat();
  take_defaults(r);
  QQ_RETURN_IF_ERROR(map_global_config(r));
  QQ_RETURN_IF_ERROR(take_fields_and_options(r));
  QQ_RETURN_IF_ERROR(merge_algorithms(r));
  QQ_RETURN_IF_ERROR(take_layers(r));
  QQ_RETURN_IF_ERROR(apply_preference(r));
  QQ_RETURN_IF_ERROR(force_before_quantizer(r));
  r.settings.quantizer = choose_quantizer(r.settings);
  fill_dependent_defaults(r);
  QQ_RETURN_IF_ERROR(check_restrictions(r));
  QQ_RETURN_IF_ERROR(force_after_defaults(r));
  QQ_RETURN_IF_ERROR(check_support(r));
  return std::move(r.settings);
}

}  // namespace quarkq::config
