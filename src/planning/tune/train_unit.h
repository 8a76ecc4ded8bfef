// SPDX-License-Identifier: MIT
// The training of one unit (ref:tuning#training-data, ADR 0011).
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "config/algorithms.h"
#include "ir/tensor.h"
#include "ir/tensor_store.h"
#include "planning/tune/layer_constants.h"
#include "planning/tune/tape.h"
#include "planning/tune/train_loops.h"

namespace quarkq::planning::finetune {

// The variables of a layer, and the weights with which the block computes.

/// Quantizes and dequantizes values with a quantizer of any kind.
using Quantizer = std::function<Status(const std::vector<float>& values, std::vector<float>& quantized)>;

class Variables {
 public:
  virtual ~Variables() = default;
  /// Returns the weights (and the bias, if it is learned) to train with.
  virtual Status current(std::vector<float>& weights, std::vector<float>& bias) = 0;
  /// Returns the weights and the bias to store.
  virtual Status final(std::vector<float>& weights, std::vector<float>& bias) = 0;
  /// Moves the variables along the gradient at the result of current(). Returns the rounding cost before the step.
  virtual double step(int64_t iteration, std::vector<float>& weight_gradient, std::vector<float>& bias_gradient) = 0;

  /// Returns integers to store, or an empty list if the result of final() is stored.
  virtual std::vector<int32_t> weight_codes() const = 0;
  virtual std::vector<int32_t> bias_codes() const { return {}; }
  /// Returns the stored form of a weight that is not an integer.
  virtual const std::vector<float>& weight_values() const = 0;
  virtual bool learns_bias() const { return false; }

  /// Returns all numbers that change in step(). Empty: the training cannot be resumed.
  virtual std::vector<std::span<float>> state() { return {}; }
  /// Prepares the next step after state() was overwritten with that after so many steps.
  virtual void resume_after(int64_t /*steps*/) {}
};

std::unique_ptr<Variables> make_adaround(std::vector<float> weights, Grid grid, const config::FinetuneSettings& options,
                                         double learning_rate);

/// Either `grid` or `quantizer` defines the rounding of weights. `bias` and its grid are empty if the bias is not
/// learned.
struct AdaQuantStart {
  std::vector<float> weights;
  std::optional<Grid> grid;
  Quantizer quantizer;
  std::vector<float> bias;
  std::optional<Grid> bias_grid;
  /// Not 0: the learning rate is a share of the quantization step, which needs `grid`, and falls along half a cosine
  /// over so many steps.
  int64_t decay_steps = 0;
};
std::unique_ptr<Variables> make_adaquant(AdaQuantStart start, double learning_rate);

/// The training data of one unit by sample: its inputs in the quantized model and the float results, in the layout of
/// its tape.
class LayerData {
 public:
  LayerData(bool channels_last, ir::TensorStore& store) : channels_last_(channels_last), store_(store) {}
  ~LayerData();
  LayerData(const LayerData&) = delete;

  /// `input` is in ONNX order and of any float type. Fails if the shapes do not match the other list.
  Status add_input(const ir::Tensor& input);
  Status add_float_input(const ir::Tensor& input);
  Status add_target(const ir::Tensor& target);

  struct Sample {
    ir::Tensor input, float_input, target;  ///< float32, in the layout of the tape.
    ir::Shape dims;                         ///< Dimensions of the input in ONNX order.
    int64_t positions = 0;                  ///< Number of positions that the loss averages over: all axes except the
                                            ///< second.
  };
  size_t size() const { return targets_.size(); }
  /// Returns the size of the largest sample so far.
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

/// Samples for training and samples for judging. They are equal if there are too few samples or `hold_out` is false.
struct Partition {
  std::vector<size_t> training, judging;
};
Partition partition(size_t samples, bool hold_out);

/// The quantizer after a layer, if it is included: one scale and zero point.
struct OutputGrid {
  numeric::QuantParams params;
  numeric::IntegerRange limits;
};

/// Constants of the training of a unit.
struct Trainee {
  const Unit& unit;
  const ir::Model& quantized;       ///< The simulated model.
  std::vector<LayerValues> stored;  ///< Values in the quantized model, by layer.
  std::optional<OutputGrid> output;
  const LayerData& data;
};

/// One set of variables per layer of the unit.
using UnitVariables = std::vector<std::unique_ptr<Variables>>;

/// Sets all gradients to 0, and notes which biases are learned.
void clear(const UnitVariables& variables, Gradients& gradients);

/// Returns the sum of part(begin, end) over fixed chunks of whole rows, added in order, so that threads do not show.
template <typename Part>
double sum_in_chunks(int64_t count, int64_t row, const Part& part) {
  const int64_t chunk = std::max<int64_t>(1, kResultChunk / row) * row;
  std::vector<double> parts(static_cast<size_t>((count + chunk - 1) / chunk));
  parallel_pieces(count, chunk, {},
                  [&](int64_t begin, int64_t end) { parts[static_cast<size_t>(begin / chunk)] = part(begin, end); });
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

class UnitTrainer {
 public:
  UnitTrainer(const Trainee& trainee, const config::FinetuneSettings& options) : t_(trainee), options_(options) {}

  /// Returns the mean squared error at the end of the unit over these samples.
  Result<double> error(const std::vector<LayerValues>& layers, const std::vector<size_t>& samples);

  /// Moves the variables. `seed` determines the drawn samples. `stop` is called after each step; returning true
  /// interrupts.
  Status train(const UnitVariables& variables, const std::vector<size_t>& samples, uint32_t seed,
               const std::function<bool()>& stop);

 private:
  Result<Tape*> tape_for(const LayerData::Sample& sample);
  Result<double> train_batch(const UnitVariables& variables, const std::vector<LayerData::Sample>& batch,
                             NumpyRandom& random, Gradients& gradients);
  /// Returns the loss of one sample of a batch of `positions`. `x` is its input, mixed from both models.
  Result<double> add_sample(const LayerData::Sample& sample, const float* x, int64_t positions, const Mixing& mixing,
                            Gradients& gradients);
  const float* mixed_input(const LayerData::Sample& sample, NumpyRandom& random, const Mixing& mixing);
  const float* quantized(const float* result, int64_t size);

  const Trainee& t_;
  const config::FinetuneSettings& options_;
  std::vector<std::unique_ptr<Tape>> tapes_;  ///< One per shape of the input, in order of first use.
  std::vector<LayerValues> now_;              ///< Values of the current step.
  std::vector<float> quantized_, mixed_;
};

}  // namespace quarkq::planning::finetune
