// SPDX-License-Identifier: MIT
// Convolutions, and products as 1x1 convolutions, on channels-last buffers. Results do not depend on the number of
// threads (ADR 0001). Implemented in exec/kernels/image/convolution.cpp and exec/backend_onednn.cpp.
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
  /// Strides of `weights` in elements if they are not row-major in ONNX order; otherwise empty.
  ir::Shape weight_strides;
};

/// Returns the strides of the weights in elements, one per dimension of `weights`.
ir::Shape strides_of_weights(const ConvProblem& problem);
/// Returns whether one thread computes the problem sooner than several.
bool prefers_one_thread(const ConvProblem& problem);

/// Returns the product of row-major matrices, [m, k] * B, as a 1x1 convolution over [1, k, m, 1], whose channels-last
/// memory is the left matrix itself. Element (i, j) of B, which is [k, n], is at i * stride_k + j * stride_n.
ConvProblem product_problem(int64_t m, int64_t k, int64_t n, int64_t stride_k, int64_t stride_n);

/// Buffers that one call of a convolution reads and writes.
struct ConvBuffers {
  const float* source = nullptr;             ///< Not read by integer_convolution().
  const float* weights = nullptr;            ///< Read only if Convolution::make() got no weights.
  const float* bias = nullptr;               ///< Set if the problem has a bias.
  std::span<const float* const> added = {};  ///< Operands of the kAdd post-ops.
  float* result = nullptr;
  std::byte* scratch = nullptr;      ///< Has Convolution::scratch_bytes() bytes.
  const std::byte* codes = nullptr;  ///< The source of integer_convolution().
};

/// A prepared convolution. Weights are packed once if they are known, otherwise in every call.
class Convolution {
 public:
  /// Prepares the faster of our direct form and oneDNN's. Fails with kUnsupported if oneDNN has no such primitive, or
  /// no fast form with these post-ops. `weights` is constant data in the order of `problem`, or null if each call
  /// provides the weights.
  static Result<std::shared_ptr<Convolution>> make(const ConvProblem& problem, const float* weights);
  virtual ~Convolution() = default;

  /// Returns the bytes of scratch memory for a call.
  virtual size_t scratch_bytes() const = 0;
  virtual void run(const ConvBuffers& buffers) = 0;
};

struct IntegerOperands;  // exec/integer_operands.h

/// Prepares a convolution whose sums are integers. The result is float(sum) * scale + bias, each rounded once, then the
/// post-ops. Source codes are channels-last. Fails with kUnsupported if oneDNN has no fast form of it.
Result<std::shared_ptr<Convolution>> integer_convolution(const ConvProblem& problem, const IntegerOperands& operands);

// The two forms among which Convolution::make() chooses.

/// Prepares a convolution by oneDNN, in one of its forms whose results do not depend on the number of threads.
Result<std::shared_ptr<Convolution>> onednn_convolution(const ConvProblem& problem, const float* weights);

/// Returns whether direct_convolution() computes the problem: one group, not transposed, at least two taps.
bool takes_direct(const ConvProblem& problem);
/// Prepares a convolution by loops of our own (exec/kernels/image/image_loops.h). REQUIRES:
/// takes_direct(problem).
std::shared_ptr<Convolution> direct_convolution(const ConvProblem& problem, const float* weights);

}  // namespace quarkq::exec
