// SPDX-License-Identifier: MIT
// One engine for every operator that moves elements by a rule that is affine in the indices: Transpose, Slice, Split,
// Concat, Expand, Tile, DepthToSpace, ... A plan is made once, in prepare, and run many times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "ir/shape.h"
#include "ir/tensor.h"

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

// Copies by one index table per axis: output index -> input index, or "filled". What Pad and nearest-neighbour Resize
// share.

constexpr int64_t kFillIndex = -1;
constexpr int64_t kLongestTable = int64_t{1} << 26;  ///< longest axis that a table is made for

/// Neighbouring outputs that copy neighbouring inputs, or are all filled (from == kFillIndex).
struct IndexRun {
  int64_t to, from, count;
};

struct IndexPlan {
  std::vector<std::vector<int64_t>> tables;  ///< One table per axis; trailing axes that are copied in order are part of
                                             ///< the unit.
  std::vector<int64_t> steps;                ///< bytes between input indices of an axis
  std::vector<IndexRun> runs;                ///< Runs of the last table; empty if they are short.
  int64_t unit = 1;                          ///< bytes copied at a time
  int64_t element = 1;                       ///< bytes of the fill value
};

/// Tables by axis of input dims `in`. REQUIRES: at least one axis.
IndexPlan plan_index_copy(const ir::Shape& in, std::vector<std::vector<int64_t>> tables, int64_t element_bytes);

/// `value` is one element, stored where tables contain kFillIndex. Uses several threads for large copies.
void run_index_copy(const IndexPlan& plan, const std::byte* from, const std::byte* value, std::byte* to);

// Cutting tensors along an axis and putting them together, for operators that work on whole values.

/// Entries [begin, end) of `axis`. REQUIRES: 0 <= begin <= end <= dims[axis]. Fails for types of less than 8 bits.
Result<ir::Tensor> cut(const ir::Tensor& tensor, int64_t axis, int64_t begin, int64_t end);
/// `tensors` one after the other along `axis`; they agree in type and in all other dims, or it fails.
/// REQUIRES: at least one tensor.
Result<ir::Tensor> concatenate(std::span<const ir::Tensor> tensors, int64_t axis);
/// `tensors`, all of one type and shape, as entries of a new axis.
Result<ir::Tensor> stack(std::span<const ir::Tensor> tensors, int64_t axis);
/// `tensor` without its axis of length 1. REQUIRES: dims[axis] is 1.
ir::Tensor without_axis(const ir::Tensor& tensor, int64_t axis);

}  // namespace quarkq::exec
