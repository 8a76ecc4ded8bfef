// SPDX-License-Identifier: MIT
// The steps of resolve(), in the order in which it calls them. Only resolve*.cpp include this.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "config/fields.h"
#include "config/settings.h"

namespace quarkq::config {

struct ModelFacts;

/// Everything the steps work on.
struct Resolving {
  const QuantConfig& config;
  const ModelFacts& facts;
  Diagnostics& diagnostics;
  Settings settings;
};

// resolve.cpp: copies the requested values.
void take_defaults(Resolving& r);
Status take_blocks(Resolving& r);
Status take_fields_and_options(Resolving& r);

// resolve_layers.cpp: global_config and algo_config in terms of fields and options (ref:settings).
Status map_global_config(Resolving& r);
Status merge_algorithms(Resolving& r);
Status take_layers(Resolving& r);

// resolve_defaults.cpp: what QuantizationPreference changes (ref:settings#preference).
Status apply_preference(Resolving& r);

// resolve_defaults.cpp: quantizer, forced changes and defaults that depend on others (ref:settings).
Status force_before_quantizer(Resolving& r);
void fill_dependent_defaults(Resolving& r);
Status force_after_defaults(Resolving& r);
/// Returns the names in the table of dependent defaults, and the rule of each as text.
std::vector<std::pair<std::string, std::string>> dependent_rules();

// resolve_checks.cpp: contradictions, and the support column.
Status check_restrictions(const Resolving& r);
Status check_support(Resolving& r);

/// Sets one value by name with the origin kForced. REQUIRES: a row of that name and a value of its type.
void force(Resolving& r, const std::string& name, const Node& value);
/// Sets one value by name. An error names the setting.
Status set_value(Settings& settings, const std::string& name, const Node& value, Origin origin);
Node value_of(const Settings& settings, const std::string& name);
/// Returns " (preset XINT8)", " (file)", ..., the origin of a setting in messages; empty for a default.
std::string origin_note(const Settings& settings, const std::string& name);

}  // namespace quarkq::config
