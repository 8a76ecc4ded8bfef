// SPDX-License-Identifier: MIT
// The rescue of a result whose outputs collapsed: the cheapest changes that the preset's target takes are tried on
// calibration samples, from a scale per weight channel to single tensors in 16 bits or single nodes in float
// (docs/guards.md). What was measured in calibration is used again; no pass reads the samples anew.
#pragma once

#include <functional>
#include <optional>

#include "pipeline/compare.h"
#include "pipeline/run_state.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// What is done differently in the second attempt.
struct Remedies {
  bool channel_scales = false;      ///< a scale per channel of weights
  std::set<ir::NodeId> in_16_bits;  ///< the activations that these nodes read and write
  std::set<ir::NodeId> left_float;
  bool empty() const { return !channel_scales && in_16_bits.empty() && left_float.empty(); }
};

struct RescueInputs {
  const RunState& state;                                    ///< after the run that collapsed
  const ir::Graph& loaded;                                  ///< whose node names settings take
  const ExpectedOutputs& expected;                          ///< on calibration samples: plans are judged on these
  const ExpectedOutputs& few;                               ///< on fewer of them: nodes are ranked by these
  std::function<bool(size_t done, size_t total)> progress;  ///< false interrupts; may be empty
};

struct Rescued {
  Remedies remedies;
  RescueReport report;
};

/// May this run be rescued at all? Not in compat mode, with guards off, without Q/DQ, or with mixed precision or
/// fine-tuning, which have their own acceptance.
bool may_rescue(const config::Settings& settings);

/// Nothing when no remedy brings the outputs clearly closer to the float ones.
Result<std::optional<Rescued>> find_rescue(const RescueInputs& inputs);

/// "cosine 0.07 becomes 0.98 on 4 calibration samples: weights with a scale per channel; ...".
std::string rescue_text(const RescueReport& report);

/// Changes `settings` and `selection` as the remedies ask; both are those of a run that starts with phase mark.
void apply(const Remedies& remedies, const ir::Graph& graph, config::Settings& settings, plan::Selection& selection);

}  // namespace quarkq::pipeline
