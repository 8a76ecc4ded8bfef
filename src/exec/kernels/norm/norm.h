// SPDX-License-Identifier: MIT
// Private to the normalization family: what its files share, and prepare functions in files of their own.
#pragma once

#include <cstdint>

#include "exec/kernels/norm/norm_loops.h"
#include "exec/kernels/shared/type_bridges.h"

namespace quarkq::exec {

// norm_group.cpp
Result<Kernel> prepare_group_norm(Prepare& p);
Result<Kernel> prepare_mean_variance_norm(Prepare& p);
Result<Kernel> prepare_training_batch_norm(Prepare& p);
// norm_rows.cpp
Result<Kernel> prepare_hardmax(Prepare& p);
Result<Kernel> prepare_rms_norm(Prepare& p);
Result<Kernel> prepare_skip_layer_norm(Prepare& p);

/// y = x * a + b over [outer, C, inner], one a and b for each channel.
inline void affine_channels(const AxisView& v, const float* x, float* y, const float* a, const float* b) {
  if (v.inner == 1) {
    for_rows(v.outer, v.count, [&](int64_t begin, int64_t end) {
      QQ_DISPATCH(exec, affine_columns)
      ({x + begin * v.count, end - begin, v.count, v.count}, y + begin * v.count, a, b);
    });
    return;
  }
  for_rows(v.outer * v.count, v.inner, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      QQ_DISPATCH(exec, affine_row)(x + i * v.inner, y + i * v.inner, v.inner, a[i % v.count], b[i % v.count]);
    }
  });
}

/// Fails unless input `i` is a real vector of `length`.
inline Status require_vector(const Prepare& p, size_t i, int64_t length) {
  QQ_RETURN_IF_ERROR(require_real(p, i));
  if (p.in(i).dims == ir::Shape{length}) return Status();
  return p.corrupt("input ", i, " is ", shape_text(p.in(i).dims), ", must be [", length, "]");
}

}  // namespace quarkq::exec
