// SPDX-License-Identifier: MIT
// The variables of a layer, and the weights that the block computes with.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "config/finetune_settings.h"
#include "ir/tensor.h"
#include "planning/tune/grid.h"

namespace quarkq::planning::finetune {

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

}  // namespace quarkq::planning::finetune
