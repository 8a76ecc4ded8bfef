// SPDX-License-Identifier: MIT
// One attempt of a rescue: a plan with some remedies, on the model as calibrated.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "pass/pass_info.h"
#include "pipeline/compare.h"
#include "pipeline/run_state.h"

namespace quarkq::pipeline {

/// The changes of an attempt.
struct Remedies {
  std::string rounding;             ///< of weights: a value of quarkq.rounding; empty: as it was
  bool channel_scales = false;      ///< a scale per channel of weights
  std::set<ir::NodeId> in_16_bits;  ///< the activations that these nodes read and write
  std::set<ir::NodeId> left_float;
  bool empty() const { return rounding.empty() && !channel_scales && in_16_bits.empty() && left_float.empty(); }
};

/// What activations get that are widened.
config::DataType wide_type(const config::Settings& settings);

/// Activations that the nodes read and write, without those that have settings of their own.
std::set<ir::ValueId> widened_tensors(const Remedies& remedies, const plan::Selection& selection,
                                      const ir::Graph& graph);

/// Changes `settings` and `selection` as the remedies ask; both are those of a run that starts with phase mark.
void apply(const Remedies& remedies, const ir::Graph& graph, config::Settings& settings, plan::Selection& selection);

/// A plan of its own on the calibrated model.
struct Attempt {
  ir::Model model;
  config::Settings settings;
  Diagnostics diagnostics;
  RunState state;  ///< of the members above

  /// `from` has been calibrated; `before`: what was found before phase mark.
  Attempt(const RunState& from, const Diagnostics& before, const Remedies& remedies);
  Attempt(const Attempt&) = delete;

  /// The phases from mark to `until`.
  Status plan(pass::Phase until);
};

struct RoundingTrial {
  Agreement outputs;
  std::shared_ptr<Attempt> attempt;
};
/// What each way of rounding gave on one state, by its name.
using RoundingTrials = std::map<std::string, RoundingTrial>;

}  // namespace quarkq::pipeline
