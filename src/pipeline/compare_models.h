// SPDX-License-Identifier: MIT
// The outputs of two models over the same samples, compared sample by sample and dropped.
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

  /// The problem itself when there is one; else a line for each of the first 20, and "12 `what`". REQUIRES: not empty.
  std::string text(const std::string& what) const {
    if (count_ == 1) return shown_[0];
    const std::string rest = count_ > shown_.size() ? cat("\n  and ", count_ - shown_.size(), " more") : "";
    return cat(join(shown_, "\n  "), rest, "\n  ", count_, " ", what);
  }

 private:
  static constexpr size_t kMaxShown = 20;
  size_t count_ = 0;
  std::vector<std::string> shown_;
};

// A float model and its quantized model, ready to run over the same samples.

/// One output by its number in both models.
struct OutputPair {
  std::string name;
  size_t in_float = 0, in_quantized = 0;
};

struct ModelPair {
  exec::Environment environment;           ///< of the sessions of both
  ir::Model float_model, quantized_model;  ///< ready to run
  std::vector<OutputPair> outputs;
  const calib::DataReader* samples = nullptr;  ///< for the float model
  std::unique_ptr<calib::DataReader> opened;   ///< those that were opened for this pair; null: a caller's
  std::unique_ptr<calib::DataReader> fitted;   ///< the same for the quantized model; null: it takes them as they are
  bool is_channels_last = false;               ///< tensors of rank 4 are [N, H, W, C] in the quantized model
  std::optional<ir::Model> rewritten;          ///< the float model before calibration, when a config says how

  const calib::DataReader& for_quantized() const { return fitted != nullptr ? *fitted : *samples; }
};

/// Pairs inputs and outputs and makes both models ready to run. REQUIRES: models with types, and samples. Fails with
/// kInvalidArgument when inputs or outputs do not match; the paths of `request` are the names in messages.
Status pair_models(const EvaluateModelsRequest& request, ModelPair& models, Diagnostics& diagnostics);

/// Loads both models and opens the samples. With a config, that says how images are preprocessed, and the float model
/// is rewritten by it when layers are asked for. Fails as loading and reading do, and with kInvalidArgument when inputs
/// or outputs do not match.
Result<ModelPair> open_models(const EvaluateModelsRequest& request, const exec::Environment& environment,
                              Diagnostics& diagnostics);

/// Tensors inside that both models have, over the first `samples`, in the order of the nodes.
Result<std::vector<TensorAgreement>> compare_layers(const ModelPair& models, size_t samples);

/// Fills in the pairs, the outputs and the aggregates of the report, and the mean of the request's metric. `accuracy`
/// may be null; the paths of `request` are the names in messages. Fails as running does, with kBadData when outputs
/// have other shapes or there are no samples.
Status compare_models(const EvaluateModelsRequest& request, const ModelPair& models, metrics::AccuracyCount* accuracy,
                      EvaluateReport& report);

}  // namespace quarkq::pipeline
