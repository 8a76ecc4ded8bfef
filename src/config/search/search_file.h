// SPDX-License-Identifier: MIT
// Files of the reference's two searches, AutoSearchPro and AutoSearch (ref:search#files): their trials as settings, and
// their unsupported requests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "config/search/search_space.h"

namespace quarkq::config {

constexpr size_t kMostSearchTrials = 1000;  ///< Upper bound on the trials of a stage; more would take months.

struct SearchFile {
  /// kSpecs: search space of tensor specs (AutoSearchPro). kFields: search space of configuration fields (AutoSearch).
  enum class Form { kSpecs, kFields };
  Form form = Form::kSpecs;
  std::vector<SearchChoice> choices;  ///< Choices without a group come first.
  bool is_grid = false;               ///< Every combination is tried; otherwise combinations are drawn.
  bool has_two_stages = false;        ///< Fine-tuning is searched on top of the best result of everything else.
  size_t trials = 0;                  ///< Upper bound on trials; with two stages, on the trials of the second one.
  std::optional<std::string> metric;  ///< Name of the metric in quarkq; the reference's default is l2.
  std::optional<double> seconds;      ///< The time limit.
  Diagnostics findings;               ///< Unsupported requests.
};

/// Reads a YAML or JSON file with the keys of the reference's configuration. Fails with kInvalidArgument for unknown
/// keys and for values of the wrong kind. Does not check the settings of single trials.
Result<SearchFile> load_search(const std::string& path);

/// Returns the choices of one stage. `first` selects the choices made before fine-tuning.
std::vector<SearchChoice> choices_of_stage(const SearchFile& file, bool first);

/// Returns the "key=value" settings of a trial that uses `made` from `choices` (of one stage, or of both, one after the
/// other).
std::vector<std::string> settings_of(SearchFile::Form form, const std::vector<SearchChoice>& choices,
                                     const Combination& made);

/// Returns "symmetric=false, cle_steps=1": the values of choices that vary.
std::string name_of(const std::vector<SearchChoice>& choices, const Combination& made);

}  // namespace quarkq::config
