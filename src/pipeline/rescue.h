// SPDX-License-Identifier: MIT
// The rescue of a result whose outputs collapsed: the cheapest changes that the preset's target takes are tried on
// calibration samples, from a scale per weight channel to single tensors in 16 bits or single nodes in float
// (docs/guards.md). Ranges that calibration measured are used again; only the guard of sentinel
// ranges reads the samples in each attempt, where it has tensors to check.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "pipeline/compare.h"
#include "pipeline/remedies.h"
#include "pipeline/run_state.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

struct RescueInputs {
  const RunState& state;                    ///< after the run that collapsed
  const ir::Graph& loaded;                  ///< whose node names settings take
  const ExpectedOutputs& expected;          ///< on calibration samples: plans are judged on these
  const ExpectedOutputs& few;               ///< on fewer of them: nodes are ranked by these
  const ExpectedOutputs* hard;              ///< on those the result was worst on; null: not known
  Agreement before;                         ///< of the plain result with `expected`
  std::vector<const FloatRemedy*> applied;  ///< remedies of the float model that the state has
  std::function<bool()> next_trial;         ///< called before each trial; false interrupts; may be empty
  RoundingTrials* tried = nullptr;          ///< of this state; may be null
};

struct Rescued {
  Remedies remedies;
  RescueReport report;
  std::shared_ptr<const Trial> trial;  ///< with the remedies, ready to be written
};

/// May this run be rescued at all? Not in compat mode, with guards off, without Q/DQ, or with mixed precision or
/// fine-tuning, which have their own acceptance.
bool may_rescue(const config::Settings& settings);

/// Formats stay: weights are only rounded in another way. Nothing when that does not bring the outputs clearly closer
/// to the float ones.
Result<std::optional<Rescued>> find_rounding(const RescueInputs& inputs);

/// The same with other formats. `rounded`: what find_rounding() found for the same plan, if anything.
Result<std::optional<Rescued>> find_formats(const RescueInputs& inputs, const std::optional<Rescued>& rounded);

/// Trials of find_formats() at most, for a graph of this size.
size_t most_format_trials(size_t nodes);
/// Those of find_rounding().
inline constexpr size_t kMostRoundingTrials = 2;

/// The outputs are good enough to leave formats as they are, also by quarkq.min_cosine.
bool is_enough(const Agreement& outputs, const config::Settings& settings);
/// `a` has clearly less noise than `b`.
bool is_better(const Agreement& a, const Agreement& b);

/// "cosine 0.07 becomes 0.98 on 4 calibration samples: weights with a scale per channel; ...".
std::string rescue_text(const RescueReport& report);

}  // namespace quarkq::pipeline
