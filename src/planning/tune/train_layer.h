// SPDX-License-Identifier: MIT
// The training of one layer (ref:tuning#training-data).
#pragma once

#include <optional>

#include "planning/tune/layer_data.h"
#include "planning/tune/variables.h"

namespace quarkq::planning::finetune {

/// The quantizer after the block, when it is included: one scale and zero point.
struct OutputGrid {
  numeric::QuantParams params;
  numeric::IntegerRange limits;
};

/// Constants of the training of a layer.
struct Trainee {
  const Layer& layer;
  const ir::Node& node;
  ir::Shape weight_dims;
  std::vector<float> bias;  ///< as the quantized model has it; empty: none
  std::optional<OutputGrid> output;
  const LayerData& data;
};

class LayerTrainer {
 public:
  LayerTrainer(const Trainee& trainee, const config::FinetuneSettings& options) : t_(trainee), options_(options) {}

  /// Mean squared error of the block over these samples.
  Result<double> error(const std::vector<float>& weights, const std::vector<float>& bias,
                       const std::vector<size_t>& samples);

  /// Moves the variables. `seed` decides which samples are drawn. `stop` is asked now and then; true interrupts.
  Status train(Variables& variables, const std::vector<size_t>& samples, uint32_t seed,
               const std::function<bool()>& stop);

 private:
  struct Parameters {
    std::vector<float> weights, bias;
  };
  struct Gradients {
    std::vector<float> weights, bias;
    bool has_bias = false;  ///< the bias is learned, too
  };
  Result<Block*> block_for(const ir::Shape& input);
  /// The loss of one sample of a batch of `positions`; `x` is its input, of both models mixed.
  Result<double> add_sample(const LayerData::Sample& sample, const float* x, int64_t positions, const Parameters& now,
                            Gradients& gradients);
  const std::vector<float>* bias_or_none(const std::vector<float>& bias) const {
    return bias.empty() ? nullptr : &bias;
  }
  const std::vector<float>& quantized(const std::vector<float>& result);

  const Trainee& t_;
  const config::FinetuneSettings& options_;
  std::vector<std::unique_ptr<Block>> blocks_;  ///< by shape of the input, in order of their first use
  std::vector<float> quantized_, dy_, mixed_;
};

}  // namespace quarkq::planning::finetune
