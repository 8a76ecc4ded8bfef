// SPDX-License-Identifier: MIT
// Which elements each output of a reduction covers, in any memory layout. Private to the reduce family.
#pragma once

#include <cstdint>

#include "exec/kernels/support.h"

namespace quarkq::exec {

struct ReducePlan {
  ir::Shape kept, reduced;  ///< dims that are walked: outputs in memory order, and what each covers
  std::vector<int64_t> kept_strides, reduced_strides;  ///< of the input, elements
  int64_t outputs = 1, covered = 1;
  ir::Shape out_dims;
  Layout out_layout = Layout::kPlain;
  bool simple = false;  ///< the input is [view.outer, view.count, view.inner], reduced over the middle
  AxisView view;

  /// First input element of output `i`.
  int64_t base(int64_t i) const {
    int64_t offset = 0;
    for (size_t d = kept.size(); d-- > 0; i /= kept[d]) offset += i % kept[d] * kept_strides[d];
    return offset;
  }
  /// Calls visit(offset from base) for every covered element, in memory order of the reduced dimensions.
  template <typename Visit>
  void each(const Visit& visit) const {
    const int64_t length = reduced.empty() ? 1 : reduced.back(), step = reduced.empty() ? 0 : reduced_strides.back();
    for (int64_t row = 0; row < (length == 0 ? 0 : covered / length); ++row) {
      int64_t rest = row, offset = 0;
      for (size_t d = reduced.size(); d-- > 1; rest /= reduced[d - 1]) {
        offset += rest % reduced[d - 1] * reduced_strides[d - 1];
      }
      for (int64_t i = 0; i < length; ++i) visit(offset + i * step);
    }
  }
};

/// Plan for logical `axes` of input 0. Declares nothing.
Result<ReducePlan> plan_reduce(const Prepare& p, const std::vector<int64_t>& axes, bool keep_dims);

// reduce_arg.cpp
Result<Kernel> prepare_arg_max(Prepare& p);
Result<Kernel> prepare_arg_min(Prepare& p);

}  // namespace quarkq::exec
