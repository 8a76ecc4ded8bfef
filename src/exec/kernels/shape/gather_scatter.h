// SPDX-License-Identifier: MIT
// Private to the gather and scatter family: checked index reading, and prepare functions in files of their own.
#pragma once

#include <cstdint>

#include "exec/kernels/shape/index_loops.h"
#include "exec/kernels/shared/support.h"

namespace quarkq::exec {

// gather_scatter_rows.cpp
Result<Kernel> prepare_gather_block_quantized(Prepare& p);
// gather_scatter_select.cpp
Result<Kernel> prepare_one_hot(Prepare& p);
Result<Kernel> prepare_non_zero(Prepare& p);
Result<Kernel> prepare_top_k(Prepare& p);
Result<Kernel> prepare_cum_sum(Prepare& p);
Result<Kernel> prepare_cum_prod(Prepare& p);
Result<Kernel> prepare_compress(Prepare& p);
// gather_scatter_rows.cpp
Result<Kernel> prepare_reverse_sequence(Prepare& p);
Result<Kernel> prepare_tensor_scatter(Prepare& p);
// gather_scatter_unique.cpp
Result<Kernel> prepare_unique(Prepare& p);

/// Input `i` of a run, which contains int32 or int64, read as int64.
struct IndexReader {
  const std::byte* data;
  bool wide;
  int64_t operator[](int64_t i) const {
    return wide ? reinterpret_cast<const int64_t*>(data)[i] : reinterpret_cast<const int32_t*>(data)[i];
  }
};

/// Fails unless input `i` contains indices.
inline Status require_indices(const Prepare& p, size_t i) {
  return p.require_input(i, {ElementType::kInt64, ElementType::kInt32});
}
inline bool is_wide(const Prepare& p, size_t i) { return p.in(i).type == ElementType::kInt64; }

/// Fails unless all `count` indices are in [-length, length).
inline Status check_indices(const std::string& label, const IndexReader& indices, int64_t count, int64_t length) {
  if (indices.wide &&
      QQ_DISPATCH(exec, indices_inside)(reinterpret_cast<const int64_t*>(indices.data), count, length)) {
    return Status();
  }
  for (int64_t i = 0; i < count; ++i) {
    if (indices[i] >= -length && indices[i] < length) continue;
    return bad_data(label, ": index ", indices[i], " is outside of [", -length, ",", length - 1, "]");
  }
  return Status();
}

inline int64_t from_front(int64_t index, int64_t length) { return index < 0 ? index + length : index; }

}  // namespace quarkq::exec
