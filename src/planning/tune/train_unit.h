// SPDX-License-Identifier: MIT
// The training of one unit (ref:tuning#training-data, ADR 0011).
#pragma once

#include <optional>

#include "base/random.h"
#include "planning/tune/layer_data.h"
#include "planning/tune/tape.h"
#include "planning/tune/variables.h"

namespace quarkq::planning::finetune {

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
