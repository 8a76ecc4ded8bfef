// SPDX-License-Identifier: MIT
#include "exec/kernels/pool_loops.h"

namespace quarkq::exec::QQ_ISA {

void max_rows(const float* source, const int64_t* offsets, int64_t count, int64_t channels, float* out) {
  const float* first = source + offsets[0];
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) out[c] = first[c];
  for (int64_t i = 1; i < count; ++i) {
    const float* row = source + offsets[i];
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) out[c] = row[c] > out[c] ? row[c] : out[c];
  }
}

void average_rows(const float* source, const int64_t* offsets, int64_t count, int64_t channels, float factor,
                  float* out) {
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) out[c] = 0.0f;
  for (int64_t i = 0; i < count; ++i) {
    const float* row = source + offsets[i];
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) out[c] += row[c];
  }
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) out[c] *= factor;
}

void add_rows(const float* source, int64_t rows, int64_t stride, int64_t channels, float* sum) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = source + r * stride;
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) sum[c] += row[c];
  }
}

void max_into(const float* source, int64_t rows, int64_t stride, int64_t channels, float* most) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = source + r * stride;
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) most[c] = row[c] > most[c] ? row[c] : most[c];
  }
}

}  // namespace quarkq::exec::QQ_ISA
