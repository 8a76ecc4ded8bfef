// SPDX-License-Identifier: MIT
// The whole network as one unit of fine-tuning (ADR 0020): the region that is learned, and the values that are compared
// with the teacher.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calib/data_reader.h"
#include "config/algorithms.h"
#include "exec/session.h"
#include "ir/tensor_store.h"
#include "planning/tune/augment.h"
#include "planning/tune/train_unit.h"

namespace quarkq::planning::finetune {

/// An end of the region and the teacher's value.
struct Target {
  ir::ValueId end;             ///< In the simulated model.
  ir::ValueId teacher;         ///< In the teacher.
  std::vector<float> factors;  ///< The end's channels are the teacher's, multiplied by these; empty: 1.
  double power = 1;            ///< Mean square of the teacher's values over samples.
  double sigmoid_power = 0;    ///< Mean square of Sigmoid of them; 0: no Sigmoid reads the output.
  bool is_output = false;      ///< An end of the network, not an inner value.
};

struct Network {
  TapeRegion region;
  std::vector<Target> targets;        ///< One per end of the region.
  std::vector<std::string> barriers;  ///< Labels of operators with no backward function that layers follow.
};

/// Finds the region: all nodes that layers or outputs depend on, except `barred` nodes and nodes without a backward
/// function. Such a node before a layer keeps all that precedes it out of the region; one after the last layers keeps
/// out what follows it. The ends are where the region leaves off. `quantized` is the simulated model. Fails with
/// kUnsupported if no layer is left.
Result<Network> find_network(const std::vector<Layer>& layers, const ir::Graph& quantized,
                             const std::set<ir::NodeId>& barred);

/// Models with the same inputs, and samples for all of them.
struct NetworkModels {
  const ir::Model& quantized;  ///< Simulated.
  const ir::Model& exact;      ///< The float model that shares its ids with `quantized`.
  const ir::Model& teacher;    ///< Inner values correspond by name.
  const ir::Model* tail;       ///< The float model after the outputs; may be null.
  const exec::Environment& environment;
  const calib::DataReader& data;
};

/// Pairs ends and inner values with the teacher's, measured on at most `samples` samples, and makes the inner values
/// ends of the region, too. Ends without a partner are removed. Fails with kUnsupported if no end has a partner.
Status find_targets(const NetworkModels& models, size_t samples, Network& network);

// The training.

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

  /// Where a training is.
  struct Position {
    int64_t step = 0;       ///< Number of finished steps.
    int64_t begun = 0;      ///< Step at which the variables were at their start.
    double rate_share = 1;  ///< Factor of the learning rate.
    double best = 0;        ///< Lowest loss on the judging samples so far.
  };
  struct Hooks {
    /// Called where the loss on the judging samples is lower than before, with that loss.
    std::function<Status(double error)> better;
    /// Called after each step; returning false interrupts.
    std::function<bool(const TrainingProgress&)> progress;
    /// Called after every kJudgeSteps steps except the last ones.
    std::function<Status(const Position& at)> save;
    /// Called where steps were too long. Sets all variables to their start with this factor of the learning rate.
    std::function<Status(double rate_share)> restart;
  };
  static constexpr int64_t kJudgeSteps = 50;

  /// Moves the variables. `values` have the sizes of the layers' values.
  Status train(const UnitVariables& variables, const std::vector<LayerValues>& values, const Partition& samples,
               Position at, const Hooks& hooks);

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
  Status judge(const UnitVariables& variables, const std::vector<size_t>& samples, Position& at, const Hooks& hooks);
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
