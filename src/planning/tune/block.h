// SPDX-License-Identifier: MIT
// Forward and backward through one block in float32 for inputs of one shape: a linear layer and its activation.
// Images lie channels-last, matrices row-major; channels come last in both. The same bits for any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exec/backend_onednn_gradient.h"
#include "planning/tune/layers.h"

namespace quarkq::planning::finetune {

class Block {
 public:
  /// `input`: dimensions in ONNX order; `weights`: of the node. kUnsupported when no gradient can be made.
  static Result<std::unique_ptr<Block>> make(const Layer& layer, const ir::Node& node, const ir::Shape& weights,
                                             const ir::Shape& input);

  const ir::Shape& input() const { return input_; }
  /// In ONNX order.
  ir::Shape result() const;
  int64_t result_size() const { return result_size_; }
  int64_t channels() const { return channels_; }

  /// `bias` may be null. The result stays valid until the next call.
  const std::vector<float>& forward(const float* x, const std::vector<float>& weights, const std::vector<float>* bias);
  /// After forward() on the same `x`: `dy` is the gradient at its result and is overwritten; the others are added to.
  /// `bias_gradient` may be null.
  void backward(const float* x, std::vector<float>& dy, std::vector<float>& weight_gradient,
                std::vector<float>* bias_gradient);

  /// Makes input_gradient() possible, which not every caller needs. kUnsupported: oneDNN has no such primitive.
  Status prepare_input_gradient();
  /// After backward() with the same `dy`, which is now the gradient before the activation: fills the gradient at the
  /// input. `weights`: of forward().
  void input_gradient(const std::vector<float>& dy, const std::vector<float>& weights, float* dx);

 private:
  Block(const Layer& layer, const ir::Shape& input) : layer_(layer), input_(input) {}
  Status set_convolution(const ir::Node& node, const ir::Shape& weights);
  Status set_product(const ir::Shape& weights);
  Status set_norm(const ir::Node& node, const ir::Shape& weights);
  Status make_convolution();
  void apply_norm(const float* x, const std::vector<float>& weights, const std::vector<float>* bias);
  void apply_convolution(const float* x, const std::vector<float>& weights, const std::vector<float>* bias);
  exec::ConvProblem adjoint() const;
  const float* scaled(const std::vector<float>& weights);
  void add_linear_gradient(const float* x, const std::vector<float>& dy, std::vector<float>& weight_gradient);

  const Layer& layer_;
  ir::Shape input_;
  exec::ConvProblem problem_;
  std::shared_ptr<exec::Convolution> convolution_;
  std::shared_ptr<exec::ConvolutionGradient> gradient_;
  std::shared_ptr<exec::Convolution> adjoint_;  ///< from the gradient at the result to that at the input
  int64_t result_size_ = 0, channels_ = 0;
  float epsilon_ = 0;                   ///< of a norm
  std::vector<float> normalized_;       ///< input of a norm without its mean, over its deviation
  std::vector<float> before_, result_;  ///< of the activation
  std::vector<float> weights_, bias_;   ///< with the factors of a Gemm
  std::vector<float> fresh_;            ///< gradient of this call, as `problem_` has its weights
  std::vector<std::byte> scratch_, adjoint_scratch_;
};

/// Channels last.
struct InstanceShape {
  int64_t instances = 0, positions = 0, channels = 0;
};
/// Each channel of each instance for itself.
void normalize_instances(const float* x, const InstanceShape& shape, float epsilon, std::vector<float>& y);
/// Each row for itself.
void normalize_rows(const float* x, int64_t rows, int64_t channels, float epsilon, std::vector<float>& y);
/// y = x * weights + bias, by channel; `bias` may be null.
void scale_channels(const std::vector<float>& x, const std::vector<float>& weights, const std::vector<float>* bias,
                    std::vector<float>& y);
/// Adds the sums of dy * x (of dy without `x`) by channel.
void add_channel_sums(const std::vector<float>& dy, const std::vector<float>* x, float factor,
                      std::vector<float>& sums);

/// y = activation(x), element i in channel i % channels.
void activate(const Activation& activation, std::span<const float> x, int64_t channels, std::span<float> y);
/// dy becomes the gradient at `x`.
void activation_gradient(const Activation& activation, std::span<const float> x, int64_t channels, std::span<float> dy);

}  // namespace quarkq::planning::finetune
