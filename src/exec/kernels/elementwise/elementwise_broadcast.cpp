// SPDX-License-Identifier: MIT
#include "exec/kernels/elementwise/elementwise.h"

namespace quarkq::exec {

BroadcastPlan plan_broadcast(const ir::Shape& out, const std::vector<ir::Shape>& shapes) {
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

void walk_broadcast(const BroadcastPlan& plan, const void* body, void (*call)(const void*, const BroadcastBlock&)) {
  const size_t rank = plan.dims.size();
  const int64_t columns = plan.dims.back();
  if (columns == 0) return;
  if (rank == 1) {
    for_elements(columns, [&](int64_t begin, int64_t end) {
      BroadcastBlock block{1, end - begin, begin, {}};
      for (size_t k = 0; k < kMaxOperands; ++k) block.at[k] = begin * plan.steps[k].column;
      call(body, block);
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
      call(body, block);
      begin += block.rows;
    }
  });
}

void run_rows(const BroadcastPlan& plan, const RowLoop& loop, const std::byte* a, const std::byte* b, std::byte* y) {
  for_broadcast(plan, [&](const BroadcastBlock& block) {
    const BinaryRow row{block.columns, plan.steps[0].column, plan.steps[1].column};
    for (int64_t r = 0; r < block.rows; ++r) {
      loop.run(a + (block.at[0] + r * plan.steps[0].row) * loop.a_bytes,
               b + (block.at[1] + r * plan.steps[1].row) * loop.b_bytes,
               y + (block.out + r * block.columns) * loop.y_bytes, row);
    }
  });
}

Kernel rows_kernel(BroadcastPlan plan, const RowLoop& loop) {
  return [plan = std::move(plan), loop](const Run& run) {
    run_rows(plan, loop, run.inputs[0], run.inputs[1], run.outputs[0]);
    return Status();
  };
}

Result<ir::Shape> broadcast_inputs(const Prepare& p, size_t first, size_t last) {
  ir::Shape dims = p.in(first).dims;
  for (size_t i = first + 1; i < last; ++i) {
    QQ_TRY(dims, ir::broadcast(dims, p.in(i).dims).context(p.label()));
  }
  return dims;
}

}  // namespace quarkq::exec
