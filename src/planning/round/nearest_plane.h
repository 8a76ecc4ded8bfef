// SPDX-License-Identifier: MIT
// Integers for weights on a given grid, so that the weighted sums come close to those of the float weights on typical
// inputs, not each weight for itself: Babai's nearest plane on the Cholesky factor of the inputs' Gram matrix, which is
// what GPTQ (Frantar et al. 2022) computes with scales that stay as they are. Pure functions on matrices.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/error.h"
#include "numeric/quant_params.h"
#include "planning/tune/layers.h"

namespace quarkq::planning {

// The inputs of a linear layer as rows of a matrix: one row per place of the result.

/// Values beyond are taken for its ends.
struct ValueRange {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
};

class InputRows {
 public:
  /// A Conv of 1 to 3 spatial axes, or a product. kUnsupported for other layers and for attributes that do not fit.
  /// `weights`: dimensions of the node's weights.
  static Result<InputRows> make(const finetune::Layer& layer, const ir::Node& node, const ir::Shape& weights);

  int64_t groups() const { return groups_; }
  int64_t depth() const { return depth_; }      ///< values that an output reads: channels of its group * kernel
  int64_t outputs() const { return outputs_; }  ///< of a group

  /// At most `most` rows of each group at evenly spread places of the result, [groups][rows][depth]; the same places
  /// for inputs of the same shape. Padding is 0. Fails when the input does not fit the weights.
  Result<std::vector<float>> read(const ir::Tensor& input, int64_t most, ValueRange range) const;

 private:
  Result<std::vector<float>> read_product(const std::vector<float>& values, int64_t most) const;
  Result<std::vector<float>> read_images(const std::vector<float>& values, const ir::Shape& dims, int64_t most) const;

  bool is_product_ = false;
  int64_t groups_ = 1, depth_ = 0, outputs_ = 0;
  std::vector<int64_t> kernel_, strides_, dilations_, pads_;  ///< by spatial axis; of the pads those before
  std::vector<int64_t> pads_after_;
};

/// Sums of products of inputs: Gram(i, k) = sum over rows of x[i] * x[k]. Only k >= i is kept.
class Gram {
 public:
  explicit Gram(int64_t depth) : depth_(depth), sums_(static_cast<size_t>(depth * depth)) {}

  /// `rows` inputs of `depth` values, one after the other.
  void add(std::span<const float> inputs, int64_t rows);
  int64_t depth() const { return depth_; }
  /// REQUIRES: column >= row.
  float at(int64_t row, int64_t column) const { return sums_[static_cast<size_t>(row * depth_ + column)]; }

 private:
  int64_t depth_;
  std::vector<float> sums_;
};

/// The weights of a linear layer's outputs that read the same inputs, and the grid of each output.
struct RoundingProblem {
  std::span<const float> weights;            ///< [outputs, depth]
  std::vector<numeric::QuantParams> params;  ///< by output
  numeric::IntegerRange limits;
};

/// Codes [outputs, depth]. Each weight is rounded to nearest when the Gram matrix has no Cholesky factor: inputs that
/// are not finite, or all zero.
std::vector<int32_t> round_to_nearest_plane(const RoundingProblem& problem, const Gram& gram);

}  // namespace quarkq::planning
