// SPDX-License-Identifier: MIT
#include "exec/transpose.h"

#include <immintrin.h>

namespace quarkq::exec::QQ_ISA {
namespace {

#if defined(__AVX2__)
constexpr int64_t kBlock = 8;  ///< rows and columns transposed in registers

void transpose_block(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride) {
  __m256 row[8], pair[8], quad[8];
  for (int64_t i = 0; i < 8; ++i) row[i] = _mm256_loadu_ps(reinterpret_cast<const float*>(from + i * from_stride));
  for (int64_t i = 0; i < 8; i += 2) {
    pair[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
    pair[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
  }
  for (int64_t i = 0; i < 8; i += 4) {
    quad[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44);
    quad[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0xEE);
    quad[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
    quad[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xEE);
  }
  for (int64_t i = 0; i < 4; ++i) {
    const __m256 low = _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20);
    const __m256 high = _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31);
    _mm256_storeu_ps(reinterpret_cast<float*>(to + i * to_stride), low);
    _mm256_storeu_ps(reinterpret_cast<float*>(to + (i + 4) * to_stride), high);
  }
}
#else
constexpr int64_t kBlock = 4;

void transpose_block(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride) {
  __m128 row[4];
  for (int64_t i = 0; i < 4; ++i) row[i] = _mm_loadu_ps(reinterpret_cast<const float*>(from + i * from_stride));
  _MM_TRANSPOSE4_PS(row[0], row[1], row[2], row[3]);
  for (int64_t i = 0; i < 4; ++i) _mm_storeu_ps(reinterpret_cast<float*>(to + i * to_stride), row[i]);
}
#endif

constexpr int64_t kLine = 16;  ///< elements of a cache line

/// A block that may be smaller than kLine x kLine.
void transpose_line_block(const uint32_t* from, uint32_t* to, const TransposedPart& part) {
  const int64_t from_stride = part.from_stride, to_stride = part.to_stride, rows = part.rows, columns = part.columns;
  const int64_t whole_rows = rows / kBlock * kBlock, whole_columns = columns / kBlock * kBlock;
  for (int64_t c = 0; c < whole_columns; c += kBlock) {
    for (int64_t r = 0; r < whole_rows; r += kBlock) {
      transpose_block(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    }
  }
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = c < whole_columns ? whole_rows : 0; r < rows; ++r)
      to[c * to_stride + r] = from[r * from_stride + c];
  }
}

/// A few long rows next to each other become the elements of each output row: images of colours.
template <int kRows>
void interleave(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t columns) {
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) {
    for (int r = 0; r < kRows; ++r) to[c * kRows + r] = from[r * from_stride + c];
  }
}
template <int kColumns>
void separate(const uint32_t* from, uint32_t* to, int64_t to_stride, int64_t rows) {
#pragma omp simd
  for (int64_t r = 0; r < rows; ++r) {
    for (int c = 0; c < kColumns; ++c) to[c * to_stride + r] = from[r * kColumns + c];
  }
}

}  // namespace

void transpose_4(const uint32_t* from, uint32_t* to, const TransposedPart& part) {
  const int64_t from_stride = part.from_stride, to_stride = part.to_stride, rows = part.rows, columns = part.columns;
  if (rows == 3 && to_stride == 3) return interleave<3>(from, from_stride, to, columns);
  if (rows == 2 && to_stride == 2) return interleave<2>(from, from_stride, to, columns);
  if (columns == 3 && from_stride == 3) return separate<3>(from, to, to_stride, rows);
  if (columns == 2 && from_stride == 2) return separate<2>(from, to, to_stride, rows);
  for (int64_t r = 0; r < rows; r += kLine) {
    const int64_t height = rows - r < kLine ? rows - r : kLine;
    for (int64_t c = 0; c < columns; c += kLine) {
      const int64_t width = columns - c < kLine ? columns - c : kLine;
      transpose_line_block(from + r * from_stride + c, to + c * to_stride + r, {from_stride, to_stride, height, width});
    }
  }
}

}  // namespace quarkq::exec::QQ_ISA
