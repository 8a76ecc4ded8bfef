// SPDX-License-Identifier: MIT
// The interface of the program as JSON: what docs/versions.md makes a promise about. `quarkq list api` prints it, and
// packaging/api.json has that of the last release.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace quarkq::pipeline {

/// Parts of the interface that the program knows and the libraries do not.
struct Interface {
  template <typename Value>
  using Named = std::vector<std::pair<std::string, Value>>;

  /// A key of settings files.
  struct Setting {
    std::string name;        ///< "Percentile", "quarkq.max_wide".
    std::string type;        ///< The type as in `quarkq list options`.
    std::string by_default;  ///< The default as text; may depend on the model.
  };

  /// Code -> meaning.
  Named<std::string> exit_codes;

  /// Verb -> its options and arguments, with whether each takes a value.
  Named<std::vector<std::pair<std::string, bool>>> options;

  /// Keys of settings files, in the order of `quarkq list options`.
  std::vector<Setting> settings;

  /// Name of a listing -> the names in it.
  Named<std::set<std::string>> listings;

  /// Name of a JSON output -> its schema (docs/schemas), as JSON.
  Named<std::string> schemas;
};

/// Returns the interface with these keys:
///  - version, exit_codes, settings, listings, and diagnostics (id -> severity);
///  - options: a row "every verb" for the options that all verbs have, then the others of each verb;
///  - presets: a row "common" for the resolved values that most presets have, then the others of each preset;
///  - json: per output, the path of each key -> its types.
/// Fails if a preset cannot be read. REQUIRES: the schemas are valid JSON.
Result<std::string> interface_json(const Interface& parts);

}  // namespace quarkq::pipeline
