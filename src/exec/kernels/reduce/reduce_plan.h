// SPDX-License-Identifier: MIT
// Which elements each output of a reduction covers, in any memory layout. Private to the reduce family.
#pragma once

#include <cstdint>

#include "exec/kernels/reduce/reduce_loops.h"
#include "exec/kernels/shared/support.h"

namespace quarkq::exec {

struct ReducePlan {
  ir::Shape kept, reduced;  ///< Dims to iterate over: outputs in memory order, and the elements of each output.
  std::vector<int64_t> kept_strides, reduced_strides;  ///< Strides of the input, in elements.
  int64_t outputs = 1, covered = 1;
  ir::Shape out_dims;
  Layout out_layout = Layout::kPlain;
  bool simple = false;  ///< the input is [view.outer, view.count, view.inner], reduced over the middle
  AxisView view;
  size_t run_from = 0;     ///< Reduced dimensions from this index on are contiguous in the input...
  int64_t run_length = 1;  ///< ... and have so many elements

  /// First input element of output `i`.
  int64_t base(int64_t i) const {
    int64_t offset = 0;
    for (size_t d = kept.size(); d-- > 0; i /= kept[d]) offset += i % kept[d] * kept_strides[d];
    return offset;
  }
  /// Calls visit(offset from base, run_length) for every run of covered elements.
  template <typename Visit>
  void each_run(const Visit& visit) const {
    for (int64_t run = 0; run < covered / run_length; ++run) {
      int64_t rest = run, offset = 0;
      for (size_t d = run_from; d-- > 0; rest /= reduced[d]) offset += rest % reduced[d] * reduced_strides[d];
      visit(offset, run_length);
    }
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

/// Calls body(first input element, first output, columns) for blocks of at most kReduceColumns columns.
template <typename Body>
void for_column_blocks(const AxisView& v, const Body& body) {
  const int64_t blocks = (v.inner + kReduceColumns - 1) / kReduceColumns;
  for_rows(v.outer * blocks, v.count * std::min(v.inner, kReduceColumns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t outer = i / blocks, first = i % blocks * kReduceColumns;
      body(outer * v.count * v.inner + first, outer * v.inner + first, std::min(kReduceColumns, v.inner - first));
    }
  });
}

/// Plan for logical `axes` of input 0. Declares nothing.
Result<ReducePlan> plan_reduce(const Prepare& p, const std::vector<int64_t>& axes, bool keep_dims);

// reduce_arg.cpp
Result<Kernel> prepare_arg_max(Prepare& p);
Result<Kernel> prepare_arg_min(Prepare& p);

}  // namespace quarkq::exec
