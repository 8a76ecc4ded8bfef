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
#include "pipeline/plan_model.h"
#include "pipeline/run_state.h"
#include "pipeline/trial.h"

namespace quarkq::pipeline {

struct FloatRemedy {
  const char* setting;                                              ///< "key=value"
  const char* text;                                                 ///< what it does, for messages
  bool (*is_open)(const RunState& state, const ir::Graph& loaded);  ///< may change something in this run
  void (*apply)(config::Settings& settings);
};
const std::vector<FloatRemedy>& float_remedies();

/// What a run with another float model needs beside its settings.
struct FloatRun {
  const ir::Model& loaded;
  Source& source;
  const ExpectedOutputs& expected;
  std::vector<PassTime>& times;
};

/// Plans the loaded model with the settings of `state` and the remedy, up to phase write. Empty if the remedy changes
/// nothing in this run, or if the run fails.
Result<std::optional<Trial>> try_remedy(const FloatRemedy& remedy, const RunState& state, const FloatRun& run,
                                        const RunnerOptions& options);

/// Remedies that leave the float model as calibrated.
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

/// Changes settings and selection as the remedies ask. `state`: as trial_before_mark() returns it.
void apply(const Remedies& remedies, RunState& state);

/// What each way of rounding gave on one state, by its name.
using RoundingTrials = std::map<std::string, std::shared_ptr<const Trial>>;

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
