// SPDX-License-Identifier: MIT
// The interface of the program as JSON: what docs/versions.md makes a promise about.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace quarkq::pipeline {

/// Parts of the interface that the program knows and the libraries do not. Presets and diagnostics are added.
struct Interface {
  template <typename Value>
  using Named = std::vector<std::pair<std::string, Value>>;

  struct Setting {
    std::string name, type, by_default;
  };

  Named<std::string> exit_codes;                             ///< Code -> meaning.
  Named<std::vector<std::pair<std::string, bool>>> options;  ///< Verb -> options, with whether each takes a value.
  std::vector<Setting> settings;
  Named<std::set<std::string>> listings;  ///< Name of a listing -> names in it.
  Named<std::string> schemas;             ///< Name of a JSON output -> its schema as JSON.
};

/// Returns the interface with these keys: version, exit_codes, options, settings, presets, diagnostics, listings, json.
/// Options that every verb has are one row, and settings that most presets have are another. Fails if a preset cannot
/// be resolved. REQUIRES: schemas are valid JSON.
Result<std::string> interface_json(const Interface& parts);

}  // namespace quarkq::pipeline
