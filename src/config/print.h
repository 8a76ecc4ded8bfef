// SPDX-License-Identifier: MIT
// Settings as text: the request, as a file that can be read back; and the effective values with their origins.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/quant_config.h"
#include "config/settings.h"

namespace quarkq::config {

/// Returns a settings file with the same settings: quant_config and extra_options (a preset is expanded), and the other
/// blocks that are set. parse_text() and read_config() of it give an equal QuantConfig, except for origins.
std::string to_yaml(const QuantConfig& config);

/// One setting of a run.
struct SettingLine {
  std::string name;
  Node value;
  Origin origin = Origin::kDefault;
};

/// Returns the quantizer, then every row of fields.def in order, then the single keys of our blocks that are set.
std::vector<SettingLine> setting_lines(const Settings& settings);

/// Returns the same settings with each block as one map, for hashes. The origin of a block is the strongest one in it.
std::vector<SettingLine> whole_settings(const Settings& settings);

/// "name: value  (origin)" per line, each line after `prefix`.
std::string resolved_text(const Settings& settings, const std::string& prefix);

/// Returns {name: {value: ..., origin: ...}, ...} in the order of setting_lines().
Node resolved_node(const Settings& settings);

/// Returns JSON of one run's settings: the request, the effective values or the error, and the findings.
std::string to_json(const QuantConfig& asked, const Result<Settings>& settings, const Diagnostics& findings);
/// Returns {ok: true, findings: [...]}: JSON of valid settings.
std::string to_json(const Diagnostics& findings);
/// "warning" or "notice".
std::string severity_name(Severity severity);

/// Rows of texts as a JSON list of maps: column name and text.
using TextRow = std::vector<std::pair<const char*, std::string>>;
std::string to_json(const std::vector<TextRow>& rows);

}  // namespace quarkq::config
