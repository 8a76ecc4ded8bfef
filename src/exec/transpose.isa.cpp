// SPDX-License-Identifier: MIT
#include "exec/transpose.h"

namespace quarkq::exec::QQ_ISA {

void transpose_columns_4(const uint32_t* source, uint32_t* destination, int64_t rows, int64_t columns, int64_t begin,
                         int64_t end) {
  constexpr int64_t kBlock = 16;  // 16 x 16 elements: one cache line in each direction
  for (int64_t r = 0; r < rows; r += kBlock) {
    const int64_t height = rows - r < kBlock ? rows - r : kBlock;
    for (int64_t c = begin; c < end; c += kBlock) {
      const int64_t width = end - c < kBlock ? end - c : kBlock;
      const uint32_t* from = source + r * columns + c;
      uint32_t* to = destination + c * rows + r;
      if (height == kBlock) {
        for (int64_t j = 0; j < width; ++j) {
          for (int64_t i = 0; i < kBlock; ++i) to[j * rows + i] = from[i * columns + j];
        }
      } else {
        for (int64_t j = 0; j < width; ++j) {
          for (int64_t i = 0; i < height; ++i) to[j * rows + i] = from[i * columns + j];
        }
      }
    }
  }
}

}  // namespace quarkq::exec::QQ_ISA
