// SPDX-License-Identifier: MIT
// The oneDNN seam: convolutions (and products as 1x1 convolutions) on channels-last buffers. Nothing else in quarkq
// sees oneDNN, whose interface differs between 2.x and 3.x. The chosen forms are bitwise stable over threads (design:
// ADR 0001).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exec/op_def.h"

namespace quarkq::exec {

/// A forward convolution or, with `transposed`, its transpose. Spatial lists have one entry per spatial dimension.
struct ConvProblem {
  ir::Shape source;                         ///< [N, C, spatial...] in ONNX order; memory is channels-last
  ir::Shape weights;                        ///< [O, I/group, kernel...]; transposed: [I, O/group, kernel...]
  ir::Shape result;                         ///< [N, O, spatial...]; memory is channels-last
  std::vector<int64_t> strides, dilations;  ///< dilation 1 is dense
  std::vector<int64_t> pads_begin, pads_end;
  int64_t groups = 1;
  bool has_bias = false;
  bool transposed = false;
  std::vector<PostOp> post_ops;  ///< kAdd operands have the result's shape and layout
  /// Strides of `weights` in elements when they are not row-major in ONNX order; empty otherwise.
  ir::Shape weight_strides;
};

/// The product of row-major matrices, [m, k] * B, as a 1x1 convolution over [1, k, m, 1], whose channels-last memory is
/// the left matrix itself. Element (i, j) of B, which is [k, n], lies at i * stride_k + j * stride_n.
ConvProblem product_problem(int64_t m, int64_t k, int64_t n, int64_t stride_k, int64_t stride_n);

/// What one call of a convolution reads and writes.
struct ConvBuffers {
  const float* source = nullptr;
  const float* weights = nullptr;            ///< read only when Convolution::make() got none
  const float* bias = nullptr;               ///< when the problem has one
  std::span<const float* const> added = {};  ///< as kAdd post-ops ask
  float* result = nullptr;
  std::byte* scratch = nullptr;  ///< Convolution::scratch_bytes()
};

/// A convolution made ready. Weights are packed once when they are known, else in every call.
class Convolution {
 public:
  /// kUnsupported when oneDNN cannot make it, or has no fast form with these post-ops. Results do not depend on the
  /// number of threads.
  /// `weights`: constant data in the order of `problem`, or null when they only come with a call.
  static Result<std::shared_ptr<Convolution>> make(const ConvProblem& problem, const float* weights);
  virtual ~Convolution() = default;

  /// Bytes of scratch a call needs.
  virtual size_t scratch_bytes() const = 0;
  virtual void run(const ConvBuffers& buffers) = 0;
};

}  // namespace quarkq::exec
