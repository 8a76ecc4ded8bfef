// SPDX-License-Identifier: MIT
// tune(): tries settings for one model, cheap ones first, and judges each by a metric of the caller's, until a goal is
// met or the time is up. The best result so far is always at the output path. docs/tune.md
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/evaluate.h"
#include "quarkq/quantize.h"
#include "quarkq/status.h"

namespace quarkq {

struct TuneRequest {
  std::string model_path;             ///< a float model
  std::string output_path;            ///< as of quantize()
  std::string config;                 ///< a preset or file: where to start from
  std::string search_path;            ///< a search file of the reference: its combinations in the place of the ladder
  std::vector<std::string> settings;  ///< "key=value", stronger than `config`; no trial changes them
  std::string calib_folder;
  std::string eval_folder;       ///< labelled samples; others than those of the calibration
  MetricRequest metric;          ///< one name, a command or a function
  bool lower_is_better = false;  ///< of a command's or function's number; names have their own
  std::string goal;              ///< "drop<=0.5%", "value>=0.8", "value<=1.62"; empty: the best within the time
  double seconds = 0;            ///< after this no trial begins, and one that runs is given up; 0: no limit
  size_t limit = 0;              ///< first so many samples of `eval_folder`; 0: all
  /// Where trials are kept. Processes that get the same folder share them, on any machines. Empty: "<output>.tune",
  /// which is removed at the end.
  std::string state_folder;
  int threads = 0;
  int64_t memory_ceiling = 0;                     ///< as in QuantizeRequest
  std::function<bool(const Progress&)> progress;  ///< returns false to interrupt; may be empty
};

/// One way to quantize the model.
struct Trial {
  std::string step, name;             ///< "ranges", "ranges: Entropy"
  std::vector<std::string> settings;  ///< "key=value", beyond those asked for
  std::string why_not;                ///< why there is no result; empty: there is one
  double value = 0;                   ///< of the metric, on the evaluation samples
  double cosine = 0;                  ///< of the worst output with the float model's, on calibration samples
  double excluded_macs = 0;           ///< share of the multiply-accumulates that `settings` leave in float
  double wide_macs = 0;               ///< share of the multiply-accumulates in other formats than the preset's
  uint64_t bytes = 0;                 ///< of the model
  std::optional<size_t> npu_nodes, nodes, subgraphs;  ///< as predicted for the target, where there is one
  double seconds = 0;                                 ///< that quantizing and scoring took
  std::string model_hash;                             ///< of the model and its weights; kept with trials on disk
  bool is_reused = false;                             ///< an earlier run, or another process, made it
  bool is_pareto = false;                             ///< no other is better in one of value, wide_macs and bytes, and
                                                      ///< as good in the others
};

/// What quantizing one layer alone does to the outputs, on calibration samples.
struct LayerSensitivity {
  std::string node;  ///< "node conv5 (Conv)"
  double cosine = 0, sqnr_db = 0;
  double mac_share = 0;  ///< of the multiply-accumulates of the model
};

struct TuneReport {
  std::string model_path, output_path;
  std::string settings_path;  ///< the settings of the result, as a file for quantize()
  std::string metric, unit;
  bool higher_is_better = true;
  std::optional<double> float_value;  ///< absent for metrics that compare with the float model
  std::string goal;
  bool is_met = false;  ///< without a goal: false
  bool is_timed_out = false;
  std::vector<Trial> trials;                  ///< in the order of the ladder
  size_t best = 0;                            ///< of the trials
  std::string next;                           ///< what to try with more time
  std::vector<LayerSensitivity> sensitivity;  ///< in node order; empty unless the step "sensitivity" was reached
  double seconds = 0;
  std::vector<Finding> findings;
};

/// Fails as quantize() and score() do for the plain settings; other trials that fail say so in their row.
/// kInvalidArgument for a goal or metric that cannot be; kInterrupted names what is there already.
QUARKQ_EXPORT Result<TuneReport> tune(const TuneRequest& request);

/// Returns where tune() writes the settings of the result: "out.yaml" for the output "out.onnx". A file that is there
/// and not of an earlier tune() is refused.
QUARKQ_EXPORT std::string settings_path_of(const std::string& output_path);

/// A step that tune() would try, in order.
struct TuneStep {
  std::string name, what, risk;
  std::vector<std::string> trials;  ///< their names
  double seconds = 0;               ///< of all of them: an estimate from a few samples
};
struct TunePlan {
  std::string model_path, preset, metric, goal;
  std::vector<TuneStep> steps;
  double seconds = 0;
  std::vector<Finding> findings = {};
};
/// Nothing is written. Fails as tune() would before its first trial.
QUARKQ_EXPORT Result<TunePlan> plan_tuning(const TuneRequest& request);

QUARKQ_EXPORT std::string to_json(const TuneReport& report);
QUARKQ_EXPORT std::string to_json(const TunePlan& plan);

}  // namespace quarkq
