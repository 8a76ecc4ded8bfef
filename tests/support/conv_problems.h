// SPDX-License-Identifier: MIT
// Convolutions built axis by axis, and their results.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "exec/convolution.h"
#include "exec/kernels/shared/support.h"

namespace quarkq::test {

/// Returns a problem of dense weights without spatial axes.
inline exec::ConvProblem conv_of_channels(int64_t instances, int64_t in, int64_t out) {
  exec::ConvProblem p;
  p.source = {instances, in};
  p.weights = {out, in};
  p.result = {instances, out};
  return p;
}

struct ConvAxis {
  int64_t size, kernel, stride, dilation, begin, end;
};

/// Adds a spatial axis. Returns false if it has no result.
inline bool add_axis(exec::ConvProblem& p, const ConvAxis& axis) {
  const auto [size, kernel, stride, dilation, begin, end] = axis;
  const int64_t reach = dilation * (kernel - 1) + 1;
  const int64_t result =
      p.transposed ? (size - 1) * stride + reach - begin - end : (size + begin + end - reach) / stride + 1;
  p.source.push_back(size);
  p.weights.push_back(kernel);
  p.result.push_back(result);
  p.strides.push_back(stride);
  p.dilations.push_back(dilation);
  p.pads_begin.push_back(begin);
  p.pads_end.push_back(end);
  return size + begin + end >= reach && result > 0;
}

/// Runs a convolution with the buffers of `given`, whose result and scratch are made here. Results that are not written
/// are NaN.
inline std::vector<float> results_of(exec::Convolution& convolution, const exec::ConvProblem& p,
                                     exec::ConvBuffers given) {
  std::vector<std::byte> scratch(convolution.scratch_bytes() + 64);
  void* aligned = scratch.data();
  size_t room = scratch.size();
  std::align(64, convolution.scratch_bytes(), aligned, room);
  std::vector<float> result(static_cast<size_t>(exec::product(p.result)), std::numeric_limits<float>::quiet_NaN());
  given.result = result.data();
  given.scratch = static_cast<std::byte*>(aligned);
  convolution.run(given);
  return result;
}

}  // namespace quarkq::test
