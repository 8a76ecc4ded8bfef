// SPDX-License-Identifier: MIT
// The rescue of a result whose outputs collapsed: tries the cheapest changes supported by the preset's target on
// calibration samples, from per-channel weight scales to single tensors in 16 bits or single nodes in float
// (docs/guards.md). Calibrated ranges are used again; only the guard of sentinel ranges reads the samples in each
// attempt if it has tensors to check.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "compare/expected_outputs.h"
#include "pipeline/rescue/remedies.h"
#include "pipeline/run/run_state.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

struct RescueInputs {
  const RunState& state;                     ///< State after the run that collapsed.
  const ir::Graph& loaded;                   ///< Graph whose node names are used in settings.
  const compare::ExpectedOutputs& expected;  ///< Outputs on calibration samples, for judging plans.
  const compare::ExpectedOutputs& few;       ///< Outputs on fewer samples, for ranking nodes.
  const compare::ExpectedOutputs* hard;      ///< Outputs on the worst samples of the result; null if unknown.
  Agreement before;                          ///< Agreement of the plain result with `expected`.
  std::vector<const FloatRemedy*> applied;   ///< Remedies of the float model that the state has.
  std::function<bool()> next_trial;          ///< Called before each trial; returns false to interrupt; may be empty.
  /// Returns whether the target places a plan at least as well as the plain result; may be empty.
  std::function<bool(const RunState& planned)> is_placed_alike;
  WeightTrials* tried = nullptr;  ///< Trials on this state; may be null.
  /// The only remedy of weights that find_rounding() tries, because it was best on another float model; null: all.
  const WeightRemedy* proven = nullptr;
  /// Returns whether the target places a node with 16-bit activations as it does with 8 bits; may be empty.
  std::function<bool(const ir::Node& node)> runs_wide = {};
};

struct Rescued {
  Remedies remedies;
  RescueReport report;
  std::shared_ptr<const Trial> trial;  ///< Plan with the remedies, ready to be written.
};

/// Returns whether this run may be rescued: not in compat mode, with guards off, without Q/DQ, or with mixed precision
/// or fine-tuning, which have their own acceptance.
bool may_rescue(const config::Settings& settings);

/// Searches only other scales and rounding of weights, without changing formats. Returns nullopt unless the outputs
/// become clearly closer to the float outputs.
Result<std::optional<Rescued>> find_rounding(const RescueInputs& inputs);

/// Searches other formats. `rounded` is the result of find_rounding() for the same plan, if any. If its outputs are
/// enough, only a few nodes in 16 bits are tried, and kept if the target places them as well.
Result<std::optional<Rescued>> find_formats(const RescueInputs& inputs, const std::optional<Rescued>& rounded);

/// Returns the upper bound on the trials of find_formats() for a graph of this size.
size_t most_format_trials(size_t nodes);
/// Upper bound on the trials of find_rounding().
inline constexpr size_t kMostRoundingTrials = 3;

/// Returns whether the outputs are good enough to keep formats, also by quarkq.min_cosine.
bool is_enough(const Agreement& outputs, const config::Settings& settings);
/// Returns whether `a` has clearly less noise than `b`.
bool is_better(const Agreement& a, const Agreement& b);

}  // namespace quarkq::pipeline
