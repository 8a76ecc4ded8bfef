// SPDX-License-Identifier: MIT
// Comparison of the outputs of two models on the same samples, sample by sample without keeping them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/strings.h"
#include "calib/data_reader.h"
#include "exec/environment.h"
#include "ir/graph.h"
#include "metrics/array_metrics.h"
#include "quarkq/evaluate.h"

namespace quarkq::pipeline {

struct Run;

// NaN and infinities in results that are compared.

/// Adds a finding if values of the pairs are NaN or infinite on one side only.
void note_not_finite(EvaluateReport& report);

/// The problems of several files as one message.
class ProblemList {
 public:
  void add(std::string problem) {
    ++count_;
    if (shown_.size() < kMaxShown) shown_.push_back(std::move(problem));
  }
  bool empty() const { return count_ == 0; }

  /// Returns the problem itself if there is only one; otherwise "12 `what`: " with the first 20 on the same line.
  /// REQUIRES: not empty.
  std::string text(const std::string& what) const {
    if (count_ == 1) return shown_[0];
    const std::string rest = count_ > shown_.size() ? cat("; and ", count_ - shown_.size(), " more") : "";
    return cat(count_, " ", what, ": ", join(shown_, "; "), rest);
  }

 private:
  static constexpr size_t kMaxShown = 20;
  size_t count_ = 0;
  std::vector<std::string> shown_;
};

// A float model and its quantized model, ready to run on the same samples.

/// Index of one output in both models.
struct OutputPair {
  std::string name;
  size_t in_float = 0, in_quantized = 0;
};

struct ModelPair {
  exec::Environment environment;           ///< Environment of the sessions of both.
  ir::Model float_model, quantized_model;  ///< Ready to run.
  std::vector<OutputPair> outputs;
  const calib::DataReader* samples = nullptr;  ///< For the float model.
  std::unique_ptr<calib::DataReader> opened;   ///< Samples opened for this pair; null if they belong to a caller.
  std::unique_ptr<calib::DataReader> fitted;   ///< Samples fitted to the quantized model; null if it uses them
                                               ///< unchanged.
  bool is_channels_last = false;               ///< Tensors of rank 4 are [N, H, W, C] in the quantized model.
  std::optional<ir::Model> rewritten;          ///< The float model before calibration, if a config specifies the
                                               ///< rewrites.

  const calib::DataReader& for_quantized() const { return fitted != nullptr ? *fitted : *samples; }
};

/// Pairs inputs and outputs and prepares both models. Fails with kInvalidArgument if inputs or outputs do not match;
/// the paths of `request` are the names in messages. REQUIRES: models with types, and samples.
Status pair_models(const EvaluateModelsRequest& request, ModelPair& models, Diagnostics& diagnostics);

/// Loads both models and opens the samples. A config specifies the preprocessing of images, and the rewrites of the
/// float model if layers are requested. Fails if a file cannot be loaded or read, and with kInvalidArgument if inputs
/// or outputs do not match.
Result<ModelPair> open_models(const EvaluateModelsRequest& request, const exec::Environment& environment,
                              Diagnostics& diagnostics);

/// Returns the inner tensors that exist in both models, over the first `samples`, in node order.
Result<std::vector<TensorAgreement>> compare_layers(const ModelPair& models, size_t samples);

/// Fills in the pairs, the outputs and the aggregates of the report, and the mean of the request's metric. `accuracy`
/// may be null; the paths of `request` are the names in messages. Fails if a model cannot be run, and with kBadData if
/// outputs differ in shape or there are no samples.
Status compare_models(const EvaluateModelsRequest& request, const ModelPair& models, metrics::AccuracyCount* accuracy,
                      EvaluateReport& report);

/// Fills in report.metrics, of the loaded and the written model over the evaluation samples, and report.nodes, if the
/// settings request them. If the models cannot be compared, adds a warning: the result itself is complete.
Status evaluate_result(Run& run);

}  // namespace quarkq::pipeline
