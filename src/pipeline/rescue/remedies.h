// SPDX-License-Identifier: MIT
// Remedies for poor outputs that change the float model, in contrast to search.h: the run starts again from the loaded
// model with another setting.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ir/node.h"
#include "pass/pass_info.h"
#include "pipeline/run/plan_model.h"
#include "pipeline/run/run_state.h"
#include "pipeline/run/trial.h"

namespace quarkq::pipeline {

struct FloatRemedy {
  const char* setting;                                              ///< "key=value"
  const char* text;                                                 ///< Effect, for messages.
  bool (*is_open)(const RunState& state, const ir::Graph& loaded);  ///< Returns whether it may have an effect in this
                                                                    ///< run.
  void (*apply)(config::Settings& settings);
};
const std::vector<FloatRemedy>& float_remedies();
/// The remedy of activation ranges.
inline constexpr std::string_view kSearchedRanges = "calibrate_method=ExtendedCalibrationMethod.MinMSE";

/// Inputs of a run with another float model, in addition to its settings.
struct FloatRun {
  const ir::Model& loaded;
  Source& source;
  const compare::ExpectedOutputs& expected;
  std::vector<PassTime>& times;
};

/// Plans the loaded model with the settings of `state` and the remedy, up to phase write. Returns nullopt if the
/// remedy has no effect in this run, or if the run fails.
Result<std::optional<Trial>> try_remedy(const FloatRemedy& remedy, const RunState& state, const FloatRun& run,
                                        const RunnerOptions& options);

/// How all weights become integers, without another format.
struct WeightRemedy {
  std::string rounding;          ///< A value of quarkq.rounding; empty: unchanged.
  bool searched_scales = false;  ///< Float scales of least squared error (WeightCalibrateMethod).

  bool empty() const { return rounding.empty() && !searched_scales; }
  auto operator<=>(const WeightRemedy&) const = default;
};

/// Remedies that leave the float model as calibrated.
struct Remedies {
  WeightRemedy weights;
  bool channel_scales = false;      ///< Per-channel weight scales.
  std::set<ir::NodeId> in_16_bits;  ///< Nodes whose input and output activations become 16-bit.
  std::set<ir::NodeId> left_float;
  bool empty() const { return weights.empty() && !channel_scales && in_16_bits.empty() && left_float.empty(); }
  bool operator==(const Remedies&) const = default;
};

/// Returns whether weights may get a scale per channel. Power-of-two targets take one per tensor (ref:npu#targets).
bool takes_channel_scales(const config::Settings& settings);
/// Returns whether activations may get 16 bits.
bool takes_16_bit_activations(const config::Settings& settings);

/// Returns the type of widened activations.
config::DataType wide_type(const config::Settings& settings);

/// Returns the activations that the nodes read and write, without activations that have their own settings.
std::set<ir::ValueId> widened_tensors(const Remedies& remedies, const plan::Selection& selection,
                                      const ir::Graph& graph);

/// Applies the remedies to settings and selection. `state` is a result of trial_before_mark().
void apply(const Remedies& remedies, RunState& state);

/// A trial with its remedies. `trial` is null before the first one.
struct Tried {
  Remedies remedies;
  std::shared_ptr<const Trial> trial;
};

/// Result of each remedy for weights on one state.
using WeightTrials = std::map<WeightRemedy, std::shared_ptr<const Trial>>;

// Ranking of the nodes that degrade the outputs most, in far fewer trials than nodes.

/// Returns the noise energy of the outputs relative to the signal if only `nodes` are quantized.
using PartNoise = std::function<Result<double>(const std::vector<ir::NodeId>& nodes)>;

struct SearchLimits {
  size_t trials = 40;          ///< Upper bound on calls of the noise function.
  size_t first_parts = 16;     ///< Number of equal parts, in node order, with which the search starts.
  double small_noise = 0.002;  ///< Parts with less noise are not divided further.
};

struct NoisyNode {
  ir::NodeId node;
  double noise = 0;  ///< For a part that was not divided: the mean of its nodes.
};

/// Returns the noisiest nodes first. Measures parts of the graph and divides the noisiest part until single nodes are
/// left or a limit is reached. Nodes of undivided parts follow in the order of their parts' noise. Assumes that noise
/// of parts is additive, which is valid while outputs still resemble the float outputs: of the two halves of a part
/// only one is measured.
Result<std::vector<NoisyNode>> rank_by_noise(const std::vector<ir::NodeId>& nodes, const PartNoise& noise,
                                             const SearchLimits& limits);

}  // namespace quarkq::pipeline
