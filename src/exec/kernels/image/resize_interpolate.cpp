// SPDX-License-Identifier: MIT
// Separable interpolation. Axes are taken two at a time where they are neighbours in memory ([H, W] in both layouts):
// each output row is first combined from input rows, then along the row, while it is in cache.
#include "exec/kernels/image/image_loops.h"
#include "exec/kernels/image/resize_taps.h"

namespace quarkq::exec {
namespace {

/// One pass over [outer, rows, columns, inner]; either tap list may be an identity.
struct Pass {
  int64_t outer = 1, rows = 1, columns = 1, inner = 1;
  AxisTaps vertical, horizontal;
  int64_t outputs() const { return outer * vertical.out() * horizontal.out() * inner; }
};

AxisTaps identity_taps(int64_t n) {
  AxisTaps taps;
  for (int64_t i = 0; i < n; ++i) taps.index.push_back(i);
  taps.weight.assign(static_cast<size_t>(n), 1.0f);
  taps.outside.assign(static_cast<size_t>(n), false);
  return taps;
}

TapList list_at(const AxisTaps& taps, int64_t i) {
  return {taps.index.data() + i * taps.width, taps.weight.data() + i * taps.width, taps.width};
}

void fill_outside(const AxisTaps& taps, float value, float* row, int64_t inner) {
  for (int64_t i = 0; i < taps.out(); ++i) {
    if (taps.outside[static_cast<size_t>(i)]) std::fill_n(row + i * inner, inner, value);
  }
}

void run_row(const Pass& pass, const float* image, int64_t row, float* y, float outside) {
  const int64_t length = pass.columns * pass.inner, out_columns = pass.horizontal.out();
  if (pass.vertical.outside[static_cast<size_t>(row)]) {
    std::fill_n(y, out_columns * pass.inner, outside);
    return;
  }
  if (pass.horizontal.identity) {
    QQ_DISPATCH(exec, combine_rows)(image, length, list_at(pass.vertical, row), y, length);
    return;
  }
  if (!pass.vertical.identity && pass.vertical.width == 2 && pass.horizontal.width == 2) {
    QQ_DISPATCH(exec, combine_squares)
    (image, {list_at(pass.vertical, row), list_at(pass.horizontal, 0), length, out_columns, pass.inner}, y);
    fill_outside(pass.horizontal, outside, y, pass.inner);
    return;
  }
  const float* source = image + row * length;
  if (!pass.vertical.identity) {
    thread_local std::vector<float> combined;
    combined.resize(std::max(combined.size(), static_cast<size_t>(length)));
    QQ_DISPATCH(exec, combine_rows)(image, length, list_at(pass.vertical, row), combined.data(), length);
    source = combined.data();
  }
  QQ_DISPATCH(exec, combine_units)(source, list_at(pass.horizontal, 0), y, out_columns, pass.inner);
  fill_outside(pass.horizontal, outside, y, pass.inner);
}

void run_pass(const Pass& pass, const float* x, float* y, float outside) {
  const int64_t out_rows = pass.vertical.out(), row_length = pass.horizontal.out() * pass.inner;
  for_rows(pass.outer * out_rows, 4 * row_length, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* image = x + i / out_rows * pass.rows * pass.columns * pass.inner;
      run_row(pass, image, i % out_rows, y + i * row_length, outside);
    }
  });
}

std::vector<Pass> plan_passes(ir::Shape dims, std::vector<AxisTaps>& taps) {
  std::vector<Pass> passes;
  for (auto i = static_cast<int64_t>(dims.size()); i-- > 0;) {
    AxisTaps& own = taps[static_cast<size_t>(i)];
    if (own.identity) continue;
    Pass pass;
    pass.columns = dims[static_cast<size_t>(i)];
    pass.inner = product(dims, i + 1, static_cast<int64_t>(dims.size()));
    dims[static_cast<size_t>(i)] = own.out();
    pass.horizontal = std::move(own);
    pass.vertical = identity_taps(1);
    if (i > 0 && !taps[static_cast<size_t>(i - 1)].identity) {
      --i;
      pass.rows = dims[static_cast<size_t>(i)];
      pass.vertical = std::move(taps[static_cast<size_t>(i)]);
      dims[static_cast<size_t>(i)] = pass.vertical.out();
    }
    pass.outer = product(dims, 0, i);
    passes.push_back(std::move(pass));
  }
  return passes;
}

}  // namespace

Kernel interpolate_kernel(const ir::Shape& dims, std::vector<AxisTaps> taps, float outside, size_t& scratch) {
  std::vector<Pass> passes = plan_passes(dims, taps);
  int64_t largest = 0;  // of what lies between passes; two such buffers take turns
  for (size_t i = 0; i + 1 < passes.size(); ++i) largest = std::max(largest, passes[i].outputs());
  scratch = 2 * static_cast<size_t>(largest) * sizeof(float);
  return [passes = std::move(passes), largest, outside, count = product(dims)](const Run& run) {
    const float* x = run.in<float>(0);
    if (passes.empty()) std::copy_n(x, count, run.out<float>(0));
    for (size_t i = 0; i < passes.size(); ++i) {
      float* between = reinterpret_cast<float*>(run.scratch) + (i % 2 == 0 ? 0 : largest);
      float* y = i + 1 == passes.size() ? run.out<float>(0) : between;
      run_pass(passes[i], x, y, outside);
      x = y;
    }
    return Status();
  };
}

}  // namespace quarkq::exec
