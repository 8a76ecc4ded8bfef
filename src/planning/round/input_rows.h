// SPDX-License-Identifier: MIT
// The inputs of a linear layer as rows of a matrix: one row per place of the result.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/error.h"
#include "planning/tune/layers.h"

namespace quarkq::planning {

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

}  // namespace quarkq::planning
