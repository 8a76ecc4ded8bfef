// SPDX-License-Identifier: MIT
// Files of the reference's two searches, AutoSearchPro and AutoSearch (ref:search#files): what they would try, as
// settings, and what they ask for that has no counterpart.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "config/search/search_space.h"

namespace quarkq::config {

constexpr size_t kMostSearchTrials = 1000;  ///< of a stage; more would take months

struct SearchFile {
  /// kSpecs: AutoSearchPro, whose space names spec classes. kFields: AutoSearch, with fields and options.
  enum class Form { kSpecs, kFields };
  Form form = Form::kSpecs;
  std::vector<SearchChoice> choices;  ///< those of no group first
  bool is_grid = false;               ///< each combination is tried; otherwise some are drawn
  bool has_two_stages = false;        ///< fine-tuning is searched on top of the best of everything else
  size_t trials = 0;                  ///< tried at most, of two stages in the second one
  std::optional<std::string> metric;  ///< by its name here; the reference's default is l2
  std::optional<double> seconds;      ///< the time limit
  Diagnostics findings;               ///< what is left out
};

/// A YAML or JSON file with the keys of the reference's configuration. kInvalidArgument for unknown keys and for
/// values of the wrong kind; what the settings of single trials allow is not checked.
Result<SearchFile> load_search(const std::string& path);

/// The choices of one stage. `first`: those that are made before fine-tuning.
std::vector<SearchChoice> choices_of_stage(const SearchFile& file, bool first);

/// "key=value" settings of a trial that takes `made` of `choices` (of one stage, or of both, one after the other).
std::vector<std::string> settings_of(SearchFile::Form form, const std::vector<SearchChoice>& choices,
                                     const Combination& made);

/// "symmetric=false, cle_steps=1": the values of choices that vary.
std::string name_of(const std::vector<SearchChoice>& choices, const Combination& made);

}  // namespace quarkq::config
