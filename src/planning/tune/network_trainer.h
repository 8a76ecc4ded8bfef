// SPDX-License-Identifier: MIT
// The training of the whole network (ADR 0020).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "config/algorithms.h"
#include "exec/session.h"
#include "ir/tensor_store.h"
#include "planning/tune/augment.h"
#include "planning/tune/network.h"
#include "planning/tune/train_unit.h"

namespace quarkq::planning::finetune {

/// State of a training after a step.
struct TrainingProgress {
  int64_t step = 0, steps = 0;  ///< Finished steps, and all steps.
  double samples_per_second = 0;
  double seconds_left = 0;
};

class NetworkTrainer {
 public:
  /// All references must outlive the trainer. Samples are kept in `store`.
  NetworkTrainer(const NetworkModels& models, const Network& network, const config::FinetuneSettings& options,
                 ir::TensorStore& store);
  ~NetworkTrainer();

  /// Reads the first `samples` samples, and finds out how images can be changed. Fails with kUnsupported if the network
  /// cannot be computed for the first one.
  Status prepare(size_t samples);

  /// Returns the loss of the outputs over these samples, unchanged: the sum of their squared errors, relative to the
  /// teacher's power. Inner values are means to an end, and do not take part.
  Result<double> error(const std::vector<LayerValues>& layers, const std::vector<size_t>& samples);

  struct Hooks {
    /// Called where the loss on the judging samples is lower than before, with that loss.
    std::function<Status(double error)> better;
    /// Called after each step; returning false interrupts.
    std::function<bool(const TrainingProgress&)> progress;
    /// Called after every kJudgeSteps steps except the last ones, with the number of finished steps.
    std::function<Status(int64_t step)> save;
  };
  static constexpr int64_t kJudgeSteps = 50;

  /// Where a training begins.
  struct Start {
    int64_t step = 0;  ///< Number of finished steps.
    double best = 0;   ///< Lowest loss on the judging samples so far.
  };
  /// Moves the variables. `values` have the sizes of the layers' values.
  Status train(const UnitVariables& variables, const std::vector<LayerValues>& values, const Partition& samples,
               Start start, const Hooks& hooks);

  /// Returns the bytes of the values between operators that have been in memory at once.
  size_t tape_bytes() const { return pool_.bytes(); }

 private:
  struct Inputs {
    std::vector<ir::Tensor> starts;   ///< In the layout of the region's starts.
    std::vector<ir::Tensor> targets;  ///< Values of the teacher, in ONNX order.
  };

  Result<std::vector<ir::Tensor>> sample(size_t i) const;
  Result<Inputs> inputs_for(const std::vector<ir::Tensor>& sample);
  Result<Tape*> tape_for(const Inputs& inputs);
  Status allow_crops();
  Status try_crop(int64_t height, int64_t width, const std::vector<ir::Tensor>& whole);
  /// Returns the loss. `share` is the factor of the gradients; 0: only outputs are compared, and no gradient is
  /// written.
  Result<double> compare(Tape& tape, const Inputs& inputs, double share);
  Status make_current(const UnitVariables& variables);
  Result<double> add_sample(int64_t step, size_t place, const std::vector<size_t>& samples, Gradients& gradients);

  const NetworkModels& models_;
  const Network& network_;
  const config::FinetuneSettings& options_;
  ir::TensorStore& store_;
  std::vector<std::vector<int>> samples_;  ///< Numbers in the store, by sample and input.
  exec::Session teacher_;
  std::optional<exec::Session> before_;  ///< Computes the starts, unless they are the inputs.
  std::optional<Augmentation> augmentation_;
  FloatPool pool_;
  std::vector<std::unique_ptr<Tape>> tapes_;  ///< One per list of shapes of the starts.
  std::vector<LayerValues> now_;              ///< Values of the current step.
};

}  // namespace quarkq::planning::finetune
