// SPDX-License-Identifier: MIT
#include "exec/transpose.h"

#include <algorithm>

namespace quarkq::exec {
namespace {

template <typename T>
void transpose_simple(const std::byte* source, std::byte* destination, int64_t rows, int64_t columns) {
  const auto* from = reinterpret_cast<const T*>(source);
  auto* to = reinterpret_cast<T*>(destination);
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) to[c * rows + r] = from[r * columns + c];
  }
}

}  // namespace

void transpose_matrices(const std::byte* source, std::byte* destination, int64_t batch, int64_t rows, int64_t columns,
                        int size) {
  const int64_t matrix_bytes = rows * columns * size;
  if (size != 4) {
    for (int64_t b = 0; b < batch; ++b) {
      const std::byte* from = source + b * matrix_bytes;
      std::byte* to = destination + b * matrix_bytes;
      if (size == 1) transpose_simple<uint8_t>(from, to, rows, columns);
      if (size == 2) transpose_simple<uint16_t>(from, to, rows, columns);
      if (size == 8) transpose_simple<uint64_t>(from, to, rows, columns);
    }
    return;
  }
  constexpr int64_t kColumnsPerTask = 256;
  const int64_t tasks = (columns + kColumnsPerTask - 1) / kColumnsPerTask;
  const auto transpose = QQ_DISPATCH(exec, transpose_columns_4);
#pragma omp parallel for collapse(2) schedule(static) if (batch * rows * columns > 32768)
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t t = 0; t < tasks; ++t) {
      transpose(reinterpret_cast<const uint32_t*>(source + b * matrix_bytes),
                reinterpret_cast<uint32_t*>(destination + b * matrix_bytes), rows, columns, t * kColumnsPerTask,
                std::min(columns, (t + 1) * kColumnsPerTask));
    }
  }
}

}  // namespace quarkq::exec
