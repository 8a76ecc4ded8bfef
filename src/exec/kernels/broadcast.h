// SPDX-License-Identifier: MIT
// How several inputs of one elementwise operator are walked together. Dimensions are merged as far as all inputs allow, so
// the common cases (same shape, scalar, one value per channel) come out as one or two loops.
#pragma once

#include <array>

#include "exec/kernels/support.h"

namespace quarkq::exec {

constexpr size_t kMaxOperands = 3;

/// Element steps of one operand in the two innermost loops; the inner step is 0 or 1.
struct RowSteps {
  int64_t row = 0, column = 0;
};

/// One call of a loop: `rows` x `columns` outputs, contiguous at `out`, operands starting at `at`.
struct BroadcastBlock {
  int64_t rows = 0, columns = 0;
  int64_t out = 0;
  std::array<int64_t, kMaxOperands> at{};
};

struct BroadcastPlan {
  ir::Shape dims;  ///< merged dims of the output, at least one
  std::array<std::vector<int64_t>, kMaxOperands> strides;
  std::array<RowSteps, kMaxOperands> steps{};
};

/// Plans the walk of operands with `shapes` (at most kMaxOperands, each broadcastable to `out`).
inline BroadcastPlan plan_broadcast(const ir::Shape& out, const std::vector<ir::Shape>& shapes) {
  BroadcastPlan plan;
  std::vector<std::vector<int64_t>> strides;
  for (const ir::Shape& shape : shapes) {
    std::vector<int64_t> own = row_major_strides(shape);
    for (size_t i = 0; i < own.size(); ++i) own[i] = shape[i] == 1 ? 0 : own[i];
    own.insert(own.begin(), out.size() - shape.size(), 0);
    strides.push_back(std::move(own));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 1) continue;
    bool merges = !plan.dims.empty();
    for (size_t k = 0; merges && k < shapes.size(); ++k) merges = plan.strides[k].back() == strides[k][i] * out[i];
    if (!merges) plan.dims.push_back(1);
    plan.dims.back() *= out[i];
    for (size_t k = 0; k < shapes.size(); ++k) {
      if (merges) plan.strides[k].pop_back();
      plan.strides[k].push_back(strides[k][i]);
    }
  }
  if (plan.dims.empty()) {
    plan.dims.push_back(1);
    for (size_t k = 0; k < shapes.size(); ++k) plan.strides[k].push_back(0);
  }
  const size_t rank = plan.dims.size();
  for (size_t k = 0; k < shapes.size(); ++k) {
    plan.steps[k] = {rank > 1 ? plan.strides[k][rank - 2] : 0, plan.strides[k][rank - 1]};
  }
  return plan;
}

/// Calls body(const BroadcastBlock&) until all outputs are covered; on several threads when there are many.
template <typename Body>
void for_broadcast(const BroadcastPlan& plan, const Body& body) {
  const size_t rank = plan.dims.size();
  const int64_t columns = plan.dims.back();
  if (columns == 0) return;
  if (rank == 1) {
    for_elements(columns, [&](int64_t begin, int64_t end) {
      BroadcastBlock block{1, end - begin, begin, {}};
      for (size_t k = 0; k < kMaxOperands; ++k) block.at[k] = begin * plan.steps[k].column;
      body(block);
    });
    return;
  }
  const int64_t rows = plan.dims[rank - 2];
  for_rows(product(plan.dims, 0, static_cast<int64_t>(rank) - 1), columns, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t row = begin % rows;
      BroadcastBlock block{std::min(rows - row, end - begin), columns, begin * columns, {}};
      for (size_t k = 0; k < kMaxOperands; ++k) block.at[k] = row * plan.steps[k].row;
      int64_t outer = begin / rows;
      for (size_t i = rank - 2; i-- > 0;) {
        const int64_t index = outer % plan.dims[i];
        outer /= plan.dims[i];
        for (size_t k = 0; k < kMaxOperands; ++k) {
          if (!plan.strides[k].empty()) block.at[k] += index * plan.strides[k][i];
        }
      }
      body(block);
      begin += block.rows;
    }
  });
}

/// Dims that all inputs [first, last) broadcast to, in memory order.
inline Result<ir::Shape> broadcast_inputs(const Prepare& p, size_t first, size_t last) {
  ir::Shape dims = p.in(first).dims;
  for (size_t i = first + 1; i < last; ++i) {
    QQ_TRY(dims, ir::broadcast(dims, p.in(i).dims).context(p.label()));
  }
  return dims;
}

}  // namespace quarkq::exec
