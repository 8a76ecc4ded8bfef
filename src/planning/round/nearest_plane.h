// SPDX-License-Identifier: MIT
// Integers for weights on a given grid, so that the weighted sums come close to those of the float weights on typical
// inputs, not each weight for itself: Babai's nearest plane on the Cholesky factor of the inputs' Gram matrix, which is
// what GPTQ (Frantar et al. 2022) computes with scales that stay as they are. Pure functions on matrices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "numeric/quant_spec.h"

namespace quarkq::planning {

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
