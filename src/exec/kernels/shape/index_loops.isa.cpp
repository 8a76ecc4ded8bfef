// SPDX-License-Identifier: MIT
#include "exec/kernels/shape/index_loops.h"

namespace quarkq::exec::QQ_ISA {

bool indices_inside(const int64_t* indices, int64_t n, int64_t length) {
  int64_t outside = 0;
#pragma omp simd reduction(| : outside)
  for (int64_t i = 0; i < n; ++i) {
    const int64_t index = indices[i];
    outside |= static_cast<int64_t>(index < -length) | static_cast<int64_t>(index >= length);
  }
  return outside == 0;
}

}  // namespace quarkq::exec::QQ_ISA
