// SPDX-License-Identifier: MIT
// Forward and backward pass through one block in float32 for inputs of one shape: a linear layer and its activation.
// Images are channels-last, matrices row-major; channels are the last axis in both. The bits do not depend on the
// number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exec/backend_onednn_gradient.h"
#include "planning/tune/layers.h"

namespace quarkq::planning::finetune {

/// Shape with channels last.
struct InstanceShape {
  int64_t instances = 0, positions = 0, channels = 0;
};

class Block {
 public:
  /// `input` contains dimensions in ONNX order, `weights` the dimensions of the node's weights. Fails with kUnsupported
  /// if no gradient can be computed.
  static Result<std::unique_ptr<Block>> make(const Layer& layer, const ir::Node& node, const ir::Shape& weights,
                                             const ir::Shape& input);

  const ir::Shape& input() const { return input_; }
  /// Returns the shape of the result in ONNX order.
  ir::Shape result() const;
  int64_t result_size() const { return result_size_; }
  int64_t channels() const { return channels_; }

  /// `bias` may be null. Fills `result`, which has result_size() elements.
  void forward(const float* x, const std::vector<float>& weights, const std::vector<float>* bias, float* result);
  /// Call it after forward() with the same `x`. `dy` is the gradient at the result and is overwritten; the other
  /// gradients are added to. `bias_gradient` may be null.
  void backward(const float* x, std::span<float> dy, std::vector<float>& weight_gradient,
                std::vector<float>* bias_gradient);

  /// Prepares input_gradient(), which not every caller needs. Fails with kUnsupported if oneDNN has no such primitive.
  Status prepare_input_gradient();
  /// Fills the gradient at the input. Call it after backward() with the same `dy`, which then contains the gradient
  /// before the activation. `weights` are the weights of forward().
  void input_gradient(const float* dy, const std::vector<float>& weights, float* dx);

 private:
  Block(const Layer& layer, const ir::Shape& input) : layer_(layer), input_(input) {}
  Status set_convolution(const ir::Node& node, const ir::Shape& weights);
  Status set_product(const ir::Shape& weights);
  Status set_norm(const ir::Node& node, const ir::Shape& weights);
  Status make_convolution();
  InstanceShape norm_shape() const;
  void apply_norm(const float* x, const std::vector<float>& weights, const std::vector<float>* bias, float* y);
  void apply_convolution(const float* x, const std::vector<float>& weights, const std::vector<float>* bias, float* y);
  exec::ConvProblem adjoint() const;
  const float* scaled(const std::vector<float>& weights);
  void add_linear_gradient(const float* x, const float* dy, std::vector<float>& weight_gradient);

  const Layer& layer_;
  ir::Shape input_;
  exec::ConvProblem problem_;
  std::shared_ptr<exec::Convolution> convolution_;
  std::shared_ptr<exec::ConvolutionGradient> gradient_;
  std::shared_ptr<exec::Convolution> adjoint_;  ///< Computes the gradient at the input from the gradient at the result.
  int64_t result_size_ = 0, channels_ = 0;
  float epsilon_ = 0;                  ///< Epsilon of a norm.
  std::vector<float> normalized_;      ///< Input of a norm, minus its mean and divided by its deviation.
  std::vector<float> inverse_;         ///< One divided by each deviation.
  std::vector<float> before_;          ///< Input of the activation; empty if there is none.
  std::vector<float> weights_, bias_;  ///< Multiplied by the factors of a Gemm.
  std::vector<float> fresh_;           ///< Gradient of this call, in the weight layout of `problem_`.
  std::vector<std::byte> scratch_, adjoint_scratch_;
};

/// Normalizes each channel of each instance independently. `inverse` receives 1 / deviation for [instances, channels].
void normalize_instances(const float* x, const InstanceShape& shape, float epsilon, std::vector<float>& y,
                         std::vector<float>& inverse);
/// Normalizes each row of shape.channels elements independently; there are instances * positions rows. `inverse`
/// receives 1 / deviation of each.
void normalize_rows(const float* x, const InstanceShape& shape, float epsilon, std::vector<float>& y,
                    std::vector<float>& inverse);
/// Fills dx with the gradient at the input of normalize_instances() or normalize_rows(), from the normalized values and
/// the gradient `dy` at weights * normalized. `by_row` states which.
struct NormGradient {
  const float *dy, *normalized, *inverse, *weights;
  InstanceShape shape;
  bool by_row;
};
void norm_gradient(const NormGradient& given, float* dx);
/// Computes y = x * weights + bias per channel; `bias` may be null.
void scale_channels(const std::vector<float>& x, const std::vector<float>& weights, const std::vector<float>* bias,
                    float* y);
/// Adds the sums of dy * x per channel, or of dy if `x` is null.
void add_channel_sums(std::span<const float> dy, const float* x, float factor, std::vector<float>& sums);

/// Computes y = activation(x), with element i in channel i % channels.
void activate(const Activation& activation, std::span<const float> x, int64_t channels, std::span<float> y);
/// Converts `dy` to the gradient at `x`.
void activation_gradient(const Activation& activation, std::span<const float> x, int64_t channels, std::span<float> dy);

}  // namespace quarkq::planning::finetune
