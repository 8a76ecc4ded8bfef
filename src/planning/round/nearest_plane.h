// SPDX-License-Identifier: MIT
// Rounding of weights to a given grid so that the weighted sums approximate the sums with float weights on typical
// inputs, instead of rounding each weight independently: Babai's nearest plane on the Cholesky factor of the inputs'
// Gram matrix. This equals GPTQ (Frantar et al. 2022) with fixed scales. Pure functions on matrices.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/error.h"
#include "numeric/product_loops.h"
#include "numeric/quant_params.h"
#include "pass/rounding_cache.h"
#include "planning/tune/layers.h"

namespace quarkq::planning {

// The inputs of a linear layer as rows of a matrix, one row per position of the result.

/// Values outside are clipped to its ends.
struct ValueRange {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
};

class InputRows {
 public:
  /// For a Conv with 1 to 3 spatial axes, or a product. Fails with kUnsupported for other layers and for inconsistent
  /// attributes. `weights` contains the dimensions of the node's weights.
  static Result<InputRows> make(const finetune::Layer& layer, const ir::Node& node, const ir::Shape& weights);

  int64_t groups() const { return groups_; }
  int64_t depth() const {
    return depth_;
  }                                             ///< Returns the number of values that an output reads: channels of its
                                                ///< group * kernel.
  int64_t outputs() const { return outputs_; }  ///< Returns the number of outputs of a group.

  /// Returns at most `most` rows per group at evenly spread positions of the result, [groups][rows][depth]. Inputs of
  /// equal shape use the same positions. Padding is 0. Fails if the input does not fit the weights.
  Result<std::vector<float>> read(const ir::Tensor& input, int64_t most, ValueRange range) const;

 private:
  struct Values {
    std::span<const float> data;
    ValueRange range;

    float at(int64_t place) const {  // keeps what is not a number
      const float value = data[static_cast<size_t>(place)];
      return value < range.low ? range.low : value > range.high ? range.high : value;
    }
  };
  std::vector<float> read_product(const Values& values, int64_t most) const;
  Result<std::vector<float>> read_images(const Values& values, const ir::Shape& dims, int64_t most) const;

  bool is_product_ = false;
  int64_t groups_ = 1, depth_ = 0, outputs_ = 0;
  std::vector<int64_t> kernel_, strides_, dilations_, pads_;  ///< Indexed by spatial axis; only the pads before.
  std::vector<int64_t> pads_after_;
};

/// The weights of a linear layer's outputs that read the same inputs, and the grid of each output.
struct RoundingProblem {
  std::span<const float> weights;            ///< [outputs, depth]
  std::vector<numeric::QuantParams> params;  ///< Parameters by output.
  numeric::IntegerRange limits;
};

/// Returns the factor of the damped Gram matrix. `upper` is empty if inputs are not finite, or all zero.
pass::RoundingFactor factor_of(const numeric::Gram& gram);

/// Returns codes [outputs, depth]. Rounds each weight to nearest if there is no factor.
std::vector<int32_t> round_to_nearest_plane(const RoundingProblem& problem, const pass::RoundingFactor& factor);

}  // namespace quarkq::planning
