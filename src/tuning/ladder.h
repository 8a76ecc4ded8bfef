// SPDX-License-Identifier: MIT
// The table of steps of tune(), from cheap to expensive, and their trials.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/error.h"
#include "config/search/search_file.h"
#include "config/settings.h"
#include "quarkq/tune.h"
#include "tuning/goal.h"

namespace quarkq::tuning {

using SettingList = std::vector<std::string>;  ///< Elements are "key=value".

/// Properties of the requested settings that steps depend on.
struct Base {
  bool has_integers = true;  ///< Activations and weights have 8 bits or fewer and there is a plan: rescues are
                             ///< possible.
  bool has_plan = true;      ///< The result contains Q/DQ nodes or nodes of a block format.
  bool is_power_of_two = false;
  bool has_channel_scales = false;
  bool tunes = false;  ///< Fine-tuning or mixed precision was requested.
  std::string calibrate_method;
  double max_wide = 0;       ///< Share of multiply-accumulates; 0: nothing may be widened.
  bool may_exclude = false;  ///< Nodes may be left in float by name.
  int64_t max_islands = 0;   ///< 0: any number.
  SettingList excluded;      ///< Names of nodes that are already left in float.
};
Base base_of(const config::Settings& settings);

/// A trial of a step: its settings are applied on top of the best trial so far.
struct Candidate {
  std::string name;  ///< "ranges: Entropy"
  SettingList settings;
  double until_cosine = 2;   ///< Target cosine; the trial is skipped if the best trial already reaches it.
  double excluded_macs = 0;  ///< Share of the multiply-accumulates that the settings leave in float.
};

struct Step {
  std::string_view name, what, risk;
  double cost;  ///< Approximate duration of a trial relative to the plain trial.
  bool (*applies)(const Base& base);
  std::vector<Candidate> (*candidates)(const Base& base);
  bool needs_sensitivity = false;
};
std::span<const Step> ladder();

/// Results on which a step may build; null before they exist.
struct Reached {
  const Trial* best = nullptr;
  const Sensitivity* sensitivity = nullptr;
};

/// A step of one run.
struct Rung {
  std::string name, what, risk;
  double cost = 1;  ///< Approximate duration of a trial relative to the plain trial.
  /// Trials are complete settings instead of changes of the best trial, and the first trial in order that meets the
  /// goal ends the step.
  bool is_search = false;
  bool needs_sensitivity = false;
  double max_wide = 1;      ///< Share of the multiply-accumulates; less is available for a trial that leaves nodes in
                            ///< float.
  int64_t max_islands = 0;  ///< 0: any number; a block in float counts as one.
  std::function<std::vector<Candidate>(const Reached& reached)> candidates;
};

/// Returns the applicable steps of the ladder, without trials whose keys the user set (`asked`).
std::vector<Rung> rungs_of(const Base& base, const SettingList& asked);

/// Returns the blocks of a step that needs_sensitivity, each left in float; empty if the best trial already has wider
/// formats. Without a sensitivity (dry run) returns placeholders.
std::vector<Candidate> blocks_in_float(const Base& base, const Reached& reached);

/// Returns the remaining trials of a step, without trials whose keys the user set.
std::vector<Candidate> open_candidates(const Step& step, const Base& base, const SettingList& asked);

/// Returns whether `settings` contain a value for the key of `setting`.
bool sets_key(const SettingList& settings, const std::string& setting);
/// Returns `settings` overridden by `more`: the later of two settings with the same key counts.
SettingList merged(const SettingList& settings, const SettingList& more);
/// Returns the key of a text as in config/layers.h.
std::string key_of(const std::string& setting);

// Combinations of a search file as steps of tune(), instead of the ladder.

/// Returns one step, or two: everything except fine-tuning, then fine-tuning on top of the best trial. No trial changes
/// the keys of `asked`. Omitted combinations are reported in `diagnostics`. Fails with kInvalidArgument for a file
/// without combinations.
Result<std::vector<Rung>> search_ladder(const config::SearchFile& file, const SettingList& asked,
                                        Diagnostics& diagnostics);

/// A TuneRequest with everything loaded except the model: the start of the climb and its steps.
struct Asked {
  TuneRequest request;        ///< Metric and time are taken from the search file if the request does not specify them.
  std::vector<Rung> rungs;    ///< At least one.
  std::string settings_text;  ///< Settings that all trials have in common.
  std::string preset;
  SettingList first;  ///< Settings of the first trial, in addition to the request's.
  Diagnostics diagnostics;
};

/// Reads settings and search file, and checks every trial's settings of a search. Fails with kInvalidArgument, also in
/// compat mode.
Result<Asked> read_request(const TuneRequest& request);

}  // namespace quarkq::tuning
