// SPDX-License-Identifier: MIT
// THE table of steps that tune() takes, from cheap to expensive, and the trials of each.
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

using SettingList = std::vector<std::string>;  ///< "key=value"

/// What the steps must know of the settings that were asked for.
struct Base {
  bool has_integers = true;  ///< activations and weights in 8 bits or fewer, a plan: rescues are possible
  bool has_plan = true;      ///< the result has Q/DQ nodes, or nodes of a block format
  bool is_power_of_two = false;
  bool has_channel_scales = false;
  bool tunes = false;  ///< fine-tuning or mixed precision was asked for
  std::string calibrate_method;
  double max_wide = 0;       ///< share of multiply-accumulates; 0: nothing may be widened
  bool may_exclude = false;  ///< nodes may be left in float by name
  int64_t max_islands = 0;   ///< 0: any number
  SettingList excluded;      ///< names of nodes that are left in float already
};
Base base_of(const config::Settings& settings);

/// A trial of a step: its settings come after those of the best trial so far.
struct Candidate {
  std::string name;  ///< "ranges: Entropy"
  SettingList settings;
  double until_cosine = 2;   ///< tries to reach it: without effect when the best trial has it already
  double excluded_macs = 0;  ///< share of the multiply-accumulates that the settings leave in float
};

struct Step {
  std::string_view name, what, risk;
  double cost;  ///< a trial's time in those of the plain one, roughly
  bool (*applies)(const Base& base);
  std::vector<Candidate> (*candidates)(const Base& base);
  bool needs_sensitivity = false;
};
std::span<const Step> ladder();

/// What a step may build on; null before there is one.
struct Reached {
  const Trial* best = nullptr;
  const Sensitivity* sensitivity = nullptr;
};

/// A step as one run takes it.
struct Rung {
  std::string name, what, risk;
  double cost = 1;  ///< a trial's time in those of the plain one, roughly
  /// Trials are whole settings of their own, not changes of the best so far, and the first one in order that meets
  /// the goal ends the step.
  bool is_search = false;
  bool needs_sensitivity = false;
  double max_wide = 1;      ///< of the multiply-accumulates; less remains for a trial that leaves nodes in float
  int64_t max_islands = 0;  ///< 0: any number; a block in float is one
  std::function<std::vector<Candidate>(const Reached& reached)> candidates;
};

/// The steps of the ladder that apply, without trials whose keys the user set (`asked`).
std::vector<Rung> rungs_of(const Base& base, const SettingList& asked);

/// The blocks of a step that needs_sensitivity, each left in float: none when the best trial has wider formats already.
/// Without a sensitivity (dry run): placeholders.
std::vector<Candidate> blocks_in_float(const Base& base, const Reached& reached);

/// The trials of a step that these settings leave to try: not those whose keys the user set.
std::vector<Candidate> open_candidates(const Step& step, const Base& base, const SettingList& asked);

/// Returns whether `settings` have a value for the key of `setting`.
bool sets_key(const SettingList& settings, const std::string& setting);
/// `more` over `settings`: of two with the same key the later one counts.
SettingList merged(const SettingList& settings, const SettingList& more);
/// Returns the key of a text as in config/layers.h.
std::string key_of(const std::string& setting);

// A search file's combinations as steps of tune(), in the place of the ladder.

/// One step, or two: everything but fine-tuning, and fine-tuning on top of the best of that. `asked`: no trial changes
/// these keys. Combinations that are left out are reported in `diagnostics`. kInvalidArgument for a file without a
/// combination.
Result<std::vector<Rung>> search_ladder(const config::SearchFile& file, const SettingList& asked,
                                        Diagnostics& diagnostics);

/// A TuneRequest with everything read that is not the model: where the climb starts and which steps it has.
struct Asked {
  TuneRequest request;        ///< with what its search file says where the request says nothing: metric, time
  std::vector<Rung> rungs;    ///< at least one
  std::string settings_text;  ///< what all trials have in common
  std::string preset;
  SettingList first;  ///< settings of the first trial, beyond those asked for
  Diagnostics diagnostics;
};

/// Settings and search file are read, and every trial's settings of a search are. Fails with kInvalidArgument, in
/// compat mode too.
Result<Asked> read_request(const TuneRequest& request);

}  // namespace quarkq::tuning
