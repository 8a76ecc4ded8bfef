// SPDX-License-Identifier: MIT
// The training of one unit (ref:tuning#training-data, ADR 0011).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "config/algorithms.h"
#include "ir/tensor.h"
#include "ir/tensor_store.h"
#include "planning/tune/layer_constants.h"
#include "planning/tune/tape.h"

namespace quarkq::planning::finetune {

// The variables of a layer, and the weights that the block computes with.

/// Values as a quantizer of any kind gives them back.
using Quantizer = std::function<Status(const std::vector<float>& values, std::vector<float>& quantized)>;

class Variables {
 public:
  virtual ~Variables() = default;
  /// The weights (and bias, when it is learned) to train with.
  virtual Status current(std::vector<float>& weights, std::vector<float>& bias) = 0;
  /// Those that will be stored.
  virtual Status final(std::vector<float>& weights, std::vector<float>& bias) = 0;
  /// Moves the variables down the gradient at what current() gave; returns the rounding cost of before.
  virtual double step(int64_t iteration, std::vector<float>& weight_gradient, std::vector<float>& bias_gradient) = 0;

  /// Integers to store; empty: what final() gives is stored as it is.
  virtual std::vector<int32_t> weight_codes() const = 0;
  virtual std::vector<int32_t> bias_codes() const { return {}; }
  /// The stored form of a weight that is not an integer.
  virtual const std::vector<float>& weight_values() const = 0;
  virtual bool learns_bias() const { return false; }
};

std::unique_ptr<Variables> make_adaround(std::vector<float> weights, Grid grid, const config::FinetuneSettings& options,
                                         double learning_rate);

/// Either `grid` or `quantizer` says how weights are rounded; `bias` and its grid are empty when it is not learned.
struct AdaQuantStart {
  std::vector<float> weights;
  std::optional<Grid> grid;
  Quantizer quantizer;
  std::vector<float> bias;
  std::optional<Grid> bias_grid;
};
std::unique_ptr<Variables> make_adaquant(AdaQuantStart start, double learning_rate);

/// The training data of one unit: its inputs in the quantized model and the float results, by sample, as its tape wants
/// them.
class LayerData {
 public:
  LayerData(bool channels_last, ir::TensorStore& store) : channels_last_(channels_last), store_(store) {}
  ~LayerData();
  LayerData(const LayerData&) = delete;

  /// In ONNX order, of any float type. Fails when the shapes do not fit those of the other list.
  Status add_input(const ir::Tensor& input);
  Status add_float_input(const ir::Tensor& input);
  Status add_target(const ir::Tensor& target);

  struct Sample {
    ir::Tensor input, float_input, target;  ///< float32, as the tape has them
    ir::Shape dims;                         ///< of the input, ONNX order
    int64_t positions = 0;                  ///< that the loss averages over: all axes but the second
  };
  size_t size() const { return targets_.size(); }
  /// Of the largest sample so far.
  int64_t sample_bytes() const { return input_bytes_ + target_bytes_; }
  Result<Sample> sample(size_t i) const;

 private:
  Result<ir::Tensor> stored(const ir::Tensor& tensor) const;

  bool channels_last_;
  ir::TensorStore& store_;
  std::vector<int> inputs_, float_inputs_, targets_;
  std::vector<ir::Shape> input_dims_, target_dims_;
  int64_t input_bytes_ = 0, target_bytes_ = 0;
};

/// Samples to train with and samples to judge by. Judges are the same when there are too few samples, or when
/// `hold_out` is false.
struct Partition {
  std::vector<size_t> training, judging;
};
Partition partition(size_t samples, bool hold_out);

/// The quantizer after a layer, when it is included: one scale and zero point.
struct OutputGrid {
  numeric::QuantParams params;
  numeric::IntegerRange limits;
};

/// Constants of the training of a unit.
struct Trainee {
  const Unit& unit;
  const ir::Model& quantized;       ///< the simulated model
  std::vector<LayerValues> stored;  ///< by layer, as the quantized model has them
  std::optional<OutputGrid> output;
  const LayerData& data;
};

/// One set of variables per layer of the unit.
using UnitVariables = std::vector<std::unique_ptr<Variables>>;

class UnitTrainer {
 public:
  UnitTrainer(const Trainee& trainee, const config::FinetuneSettings& options) : t_(trainee), options_(options) {}

  /// Mean squared error at the end of the unit over these samples.
  Result<double> error(const std::vector<LayerValues>& layers, const std::vector<size_t>& samples);

  /// Moves the variables. `seed` decides which samples are drawn. `stop` is asked after each step; true
  /// interrupts.
  Status train(const UnitVariables& variables, const std::vector<size_t>& samples, uint32_t seed,
               const std::function<bool()>& stop);

 private:
  Result<Tape*> tape_for(const LayerData::Sample& sample);
  Result<double> train_batch(const UnitVariables& variables, const std::vector<LayerData::Sample>& batch,
                             NumpyRandom& random, Gradients& gradients);
  /// The loss of one sample of a batch of `positions`; `x` is its input, of both models mixed.
  Result<double> add_sample(const LayerData::Sample& sample, const float* x, int64_t positions, const Mixing& mixing,
                            Gradients& gradients);
  const float* mixed_input(const LayerData::Sample& sample, NumpyRandom& random, const Mixing& mixing);
  const float* quantized(const float* result, int64_t size);

  const Trainee& t_;
  const config::FinetuneSettings& options_;
  std::vector<std::unique_ptr<Tape>> tapes_;  ///< by shape of the input, in order of their first use
  std::vector<LayerValues> now_;              ///< what the step computes with
  std::vector<float> quantized_, mixed_;
};

}  // namespace quarkq::planning::finetune
