// SPDX-License-Identifier: MIT
// The gradient of a convolution with respect to its weights, on channels-last buffers. Like a forward one, it has the
// same bits for any number of threads: fixed slices of output channels, each computed by one thread.
#pragma once

#include <memory>

#include "exec/convolution.h"

namespace quarkq::exec {

class ConvolutionGradient {
 public:
  /// `problem` has no post-ops; bias and weight strides are ignored. Fails with kUnsupported if oneDNN has no such
  /// primitive.
  static Result<std::shared_ptr<ConvolutionGradient>> make(const ConvProblem& problem);
  virtual ~ConvolutionGradient() = default;

  /// `source` and `result_gradient` have the layout of a forward call. Overwrites `weight_gradient`, which is row-major
  /// in the dimensions of `problem.weights`. Not thread-safe.
  virtual void run(const float* source, const float* result_gradient, float* weight_gradient) = 0;
};

}  // namespace quarkq::exec
