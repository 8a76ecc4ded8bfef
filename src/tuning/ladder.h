// SPDX-License-Identifier: MIT
// THE table of steps that tune() takes, from cheap to expensive, and the trials of each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/settings.h"

namespace quarkq::tuning {

using SettingList = std::vector<std::string>;  ///< "key=value"

/// What the steps must know of the settings that were asked for.
struct Base {
  bool has_integers = true;     ///< activations and weights in 8 bits or fewer, a plan: rescues are possible
  bool has_plan = true;         ///< the result has Q/DQ nodes, or nodes of a block format
  bool is_power_of_two = false;
  bool has_channel_scales = false;
  bool tunes = false;           ///< fine-tuning or mixed precision was asked for
  std::string calibrate_method;
  double max_wide = 0;          ///< share of multiply-accumulates; 0: nothing may be widened
};
Base base_of(const config::Settings& settings);

/// A trial of a step: its settings come after those of the best trial so far.
struct Candidate {
  std::string name;  ///< "ranges: Entropy"
  SettingList settings;
  double until_cosine = 2;  ///< tries to reach it: without effect when the best trial has it already
};

struct Step {
  std::string_view name, what, risk;
  double cost;  ///< a trial's time in those of the plain one, roughly
  bool (*applies)(const Base& base);
  std::vector<Candidate> (*candidates)(const Base& base);
};
std::span<const Step> ladder();

/// `more` over `settings`: of two with the same key the later one counts.
SettingList merged(const SettingList& settings, const SettingList& more);
/// What stands before the =.
std::string_view key_of(std::string_view setting);

}  // namespace quarkq::tuning
