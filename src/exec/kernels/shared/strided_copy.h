// SPDX-License-Identifier: MIT
// One engine for every operator that moves elements by a rule that is affine in the indices: Transpose, Slice, Split,
// Concat, Expand, Tile, DepthToSpace, ... A plan is made once, in prepare, and run many times.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/shape.h"

namespace quarkq::exec {

/// Copies element `from + sum(index[i] * from_strides[i])` to `to + sum(index[i] * to_strides[i])` for all indices
/// below `dims`. After plan_copy() neighbouring dimensions are merged and a contiguous innermost run has become one
/// element.
struct CopyPlan {
  ir::Shape dims;
  std::vector<int64_t> from_strides, to_strides;  ///< bytes; from_strides may be 0 or negative
  int64_t element = 1;                            ///< bytes
  int64_t from_offset = 0, to_offset = 0;         ///< bytes
};

/// Strides and offsets are given in elements of `element_bytes`.
struct CopySpec {
  ir::Shape dims;
  std::vector<int64_t> from_strides, to_strides;
  int64_t from_offset = 0, to_offset = 0;
};
CopyPlan plan_copy(const CopySpec& spec, int64_t element_bytes);

/// Runs on several threads when much is copied. `from` and `to` do not overlap.
void run_copy(const CopyPlan& plan, const std::byte* from, std::byte* to);

/// Plan of a transposition: output dimension i is input dimension order[i].
CopyPlan plan_transpose(const ir::Shape& dims, const std::vector<int64_t>& order, int64_t element_bytes);

}  // namespace quarkq::exec
