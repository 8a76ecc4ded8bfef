// SPDX-License-Identifier: MIT
// Remedies for poor outputs that change the float model, unlike those of rescue.h: the run starts once more from the
// loaded model, with another setting.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/node.h"
#include "pass/pass_info.h"
#include "pipeline/compare.h"
#include "pipeline/plan_model.h"
#include "pipeline/run_state.h"

namespace quarkq::pipeline {

struct FloatRemedy {
  const char* setting;                                              ///< "key=value"
  const char* text;                                                 ///< what it does, for messages
  bool (*is_open)(const RunState& state, const ir::Graph& loaded);  ///< may change something in this run
  void (*apply)(config::Settings& settings);
};
const std::vector<FloatRemedy>& float_remedies();

struct FloatRun {
  const ir::Model& loaded;
  Source& source;
  config::Settings& settings;  ///< of the state
  const ExpectedOutputs& expected;
  std::vector<PassTime>& times;
};

/// Plans `state` again with the remedy, up to phase write. When `keeps` says no to its outputs, everything is as it was
/// and the result is empty.
Result<std::optional<Agreement>> try_remedy(const FloatRemedy& remedy, RunState& state, const FloatRun& run,
                                            const std::function<bool(const Agreement&)>& keeps,
                                            const RunnerOptions& options);

// One attempt of a rescue: a plan with some remedies, on the model as calibrated.

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

// Which nodes cost the outputs most, found in far fewer trials than there are nodes.

/// Noise energy of the outputs relative to the signal when only `nodes` are quantized.
using PartNoise = std::function<Result<double>(const std::vector<ir::NodeId>& nodes)>;

struct SearchLimits {
  size_t trials = 64;          ///< calls of the noise function at most
  size_t first_parts = 16;     ///< equal parts of the nodes, in node order, that the search starts with
  double small_noise = 0.002;  ///< parts that have less together are not divided any more
};

struct NoisyNode {
  ir::NodeId node;
  double noise = 0;  ///< of a part that was not divided: the mean of its nodes
};

/// The noisiest nodes first. Parts of the graph are measured and the noisiest one is divided, until single nodes are
/// left or the limits are reached; nodes of parts that were not divided follow in the order of their parts' noise.
/// Noise of parts is taken as additive, which holds while outputs still resemble the float ones.
Result<std::vector<NoisyNode>> rank_by_noise(const std::vector<ir::NodeId>& nodes, const PartNoise& noise,
                                             const SearchLimits& limits);

}  // namespace quarkq::pipeline
