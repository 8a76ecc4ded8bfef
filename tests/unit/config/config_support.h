// SPDX-License-Identifier: MIT
// Helpers of the config tests: settings from text, and what resolving them gives.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/resolve.h"

namespace quarkq::config {

inline Result<QuantConfig> config_from(const std::string& yaml) {
  QQ_TRY(const Node values, parse_text(yaml, "t.yaml"));
  return read_config({Layer{values, Origin::kFile}});
}

inline Result<Settings> resolve_text(const std::string& yaml, Diagnostics& diagnostics, const ModelFacts& facts = {}) {
  QQ_TRY(const QuantConfig config, config_from(yaml));
  return resolve(config, facts, diagnostics);
}

inline Result<Settings> resolve_text(const std::string& yaml) {
  Diagnostics diagnostics;
  return resolve_text(yaml, diagnostics);
}

/// The settings of `yaml`; a test failure and default settings when they do not resolve.
inline Settings settings_of(const std::string& yaml) {
  const Result<Settings> settings = resolve_text(yaml);
  EXPECT_TRUE(settings.ok()) << yaml << "\n" << settings.status().message();
  return settings.ok() ? settings.value() : Settings{};
}

/// The refusal of `yaml`, which must have this code.
inline std::string refusal_of(const std::string& yaml, Code code = Code::kInvalidArgument) {
  const Result<Settings> settings = resolve_text(yaml);
  EXPECT_FALSE(settings.ok()) << yaml;
  EXPECT_EQ(settings.status().code(), code) << settings.status().message();
  return settings.status().message();
}

/// Subjects of the findings with this id.
inline std::vector<std::string> subjects(const Diagnostics& diagnostics, const std::string& id) {
  std::vector<std::string> names;
  for (const Diagnostic& one : diagnostics.all())
    if (one.id == id) names.push_back(one.subject);
  return names;
}

inline bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace quarkq::config
