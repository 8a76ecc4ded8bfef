// SPDX-License-Identifier: MIT
// tune(): tries settings for one model, cheap settings first, and judges each trial by a metric of the caller until a
// goal is met or the time is up. A trial that the target refuses is never preferred to one that it accepts, and meets
// no goal, unless quarkq.allow_float is set. The best result so far is always stored at the output path. See
// docs/tune.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/check.h"
#include "quarkq/evaluate.h"
#include "quarkq/quantize.h"
#include "quarkq/status.h"

namespace quarkq {

struct TuneRequest {
  std::string model_path;             ///< Path of a float model.
  std::string output_path;            ///< Path of the result; empty: "<stem>_quantized.onnx" in the folder of the
                                      ///< model.
  std::string config;                 ///< A preset or file to start from.
  std::string search_path;            ///< A search file of the reference; its combinations replace the ladder.
  std::vector<std::string> settings;  ///< "key=value"; each overrides `config`. No trial changes these settings.
  std::string calib_folder;
  std::string eval_folder;       ///< Labelled samples, different from the calibration samples.
  MetricRequest metric;          ///< One name, a command or a function.
  bool lower_is_better = false;  ///< Applies to the number of a command or function. Named metrics define their own
                                 ///< direction.
  std::string goal;              ///< "drop<=0.5%", "value>=0.8", "value<=1.62"; empty: the best result within the time.
  double goal_confidence = 0;    ///< If set, the goal must be met by the end of the interval at this confidence.
  double seconds = 0;            ///< Time limit in seconds; 0: no limit. No trial starts after it, and the running
                                 ///< trial is abandoned.
  size_t limit = 0;              ///< Number of samples of `eval_folder` to use, from the first; 0: all.
  /// Folder that stores the trials. Processes with the same folder share their trials, on any machine. Empty:
  /// "<output>.tune", which is removed at the end.
  std::string state_folder;
  int threads = 0;
  int64_t memory_ceiling = 0;                     ///< See QuantizeRequest.
  std::function<bool(const Progress&)> progress;  ///< Returns false to interrupt the run; may be empty.
};

/// One way to quantize the model, and its result.
struct Trial {
  std::string step, name;               ///< "ranges", "ranges: Entropy"
  std::vector<std::string> settings;    ///< "key=value", in addition to the requested settings.
  std::string why_not;                  ///< Why there is no result; empty if there is one.
  double value = 0;                     ///< Value of the metric on the evaluation samples.
  std::optional<Interval> interval;     ///< Interval of the value; absent if the metric has no samples.
  Resamples resamples;                  ///< Draws of the value; not in the JSON.
  std::optional<ScoreDifference> gain;  ///< Value minus that of the best trial of the steps before; absent without one.
  bool is_accepted = false;             ///< The best trial when its step ended.
  double cosine = 0;                    ///< Cosine of the worst output with the float model's output, on calibration
                                        ///< samples.
  double excluded_macs = 0;             ///< Share of the multiply-accumulates that `settings` leave in float, 0 to 1.
  double wide_macs = 0;                 ///< Share of the multiply-accumulates in a wider format than the preset's, 0 to
                                        ///< 1.
  uint64_t bytes = 0;                   ///< Size of the model.
  std::optional<Deployability> deployable;  ///< Prediction for the target; absent without a target.
  double seconds = 0;                       ///< Duration of quantizing and scoring.
  std::string model_hash;                   ///< Hash of the model and its weights, stored with trials on
                                            ///< disk.
  bool is_reused = false;                   ///< The result comes from an earlier run or another process.
  bool is_pareto = false;                   ///< No other trial is better in one of value, wide_macs and bytes
                                            ///< without being worse in another.
};

/// Effect on the outputs of quantizing only one layer, on calibration samples.
struct LayerSensitivity {
  std::string node;  ///< "node conv5 (Conv)"
  double cosine = 0, sqnr_db = 0;
  double mac_share = 0;  ///< Share of the model's multiply-accumulates, 0 to 1.
};

struct TuneReport {
  std::string model_path, output_path;
  std::string settings_path;  ///< File with the settings of the result, for quantize().
  std::string metric, unit;
  bool higher_is_better = true;
  std::optional<double> float_value;       ///< Value of the float model; absent for metrics that compare with the float
                                           ///< model.
  double confidence = kConfidence;         ///< Confidence of the intervals.
  std::optional<Interval> float_interval;  ///< Interval of the float value.
  std::optional<ScoreDifference> change;   ///< Value of the best trial minus the float value.
  std::string goal;
  bool is_met = false;     ///< Always false without a goal.
  bool is_unsure = false;  ///< The value meets the goal, and the end of its interval does not.
  bool is_timed_out = false;
  std::vector<Trial> trials;                  ///< In the order of the ladder.
  size_t best = 0;                            ///< Index of the best trial.
  std::string next;                           ///< Recommended next step if there is more time.
  std::vector<LayerSensitivity> sensitivity;  ///< In node order; empty unless the step "sensitivity" was reached.
  double seconds = 0;
  std::vector<Finding> findings;
};

/// Tunes a model. Fails as quantize() and score() do for the initial settings; a later trial that fails is recorded in
/// its row. Fails with kInvalidArgument for an impossible goal or metric and with kInterrupted after an interruption;
/// that message names the results so far.
QUARKQ_EXPORT Result<TuneReport> tune(const TuneRequest& request);

/// Returns where tune() writes the settings of the result: "out.yaml" for the output "out.onnx". tune() refuses to
/// overwrite a file that it did not write itself.
QUARKQ_EXPORT std::string settings_path_of(const std::string& output_path);

/// A step that tune() would try.
struct TuneStep {
  std::string name, what, risk;
  std::vector<std::string> trials;  ///< Names of the trials.
  double seconds = 0;               ///< Estimated duration of all trials, from a few samples.
};
struct TunePlan {
  std::string model_path, preset, metric, goal;
  std::vector<TuneStep> steps;
  double seconds = 0;
  std::vector<Finding> findings = {};
};
/// Returns the steps that tune() would try. Writes nothing. Fails for the reasons that stop tune() before its first
/// trial.
QUARKQ_EXPORT Result<TunePlan> plan_tuning(const TuneRequest& request);

QUARKQ_EXPORT std::string to_json(const TuneReport& report);
QUARKQ_EXPORT std::string to_json(const TunePlan& plan);

}  // namespace quarkq
