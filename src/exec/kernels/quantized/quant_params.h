// SPDX-License-Identifier: MIT
// How scales and zero points of QuantizeLinear and DequantizeLinear fall on elements: one for the tensor, one for each
// index of an axis, or one for each block of an axis (opset 21).
#pragma once

#include <cstdint>

#include "exec/kernels/shared/support.h"

namespace quarkq::exec {

struct ParamView {
  AxisView axis;           ///< around the quantized axis; one parameter: everything is `inner`
  int64_t block = 0;       ///< elements of the axis that share a parameter; 0 when not in blocks
  int64_t blocks = 0;      ///< of the axis
  int64_t parameters = 1;  ///< number of scales
};

/// Elements [first, first + count) use the parameters from `parameter` on: all the same one, or with `each` one each.
struct ParamRun {
  int64_t first = 0, count = 0;
  int64_t parameter = 0;
  bool each = false;
};

/// Reads axis and block_size of `p` and checks shapes of inputs 0 to 2. Shapes are in memory order, and so is the view.
Result<ParamView> read_param_view(const Prepare& p);

/// Calls body(ParamRun) until all elements are covered, over threads.
template <typename Body>
void for_param_runs(const ParamView& v, const Body& body) {
  const AxisView& a = v.axis;
  if (v.parameters == 1 && v.block == 0) {
    return for_elements(a.inner, [&](int64_t begin, int64_t end) { body(ParamRun{begin, end - begin, 0, false}); });
  }
  if (a.inner == 1 && v.block == 0) {  // channels last
    return for_rows(a.outer, a.count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(ParamRun{i * a.count, a.count, 0, true});
    });
  }
  if (a.inner == 1) {
    return for_rows(a.outer * v.blocks, std::min(v.block, a.count), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t within = i % v.blocks * v.block;
        body(ParamRun{i / v.blocks * a.count + within, std::min(v.block, a.count - within), i, false});
      }
    });
  }
  for_rows(a.outer * a.count, a.inner, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t outer = i / a.count, index = i % a.count;
      if (v.block == 0)
        body(ParamRun{i * a.inner, a.inner, index, false});
      else
        body(ParamRun{i * a.inner, a.inner, (outer * v.blocks + index / v.block) * a.inner, true});
    }
  });
}

}  // namespace quarkq::exec
