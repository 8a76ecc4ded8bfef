// SPDX-License-Identifier: MIT
#include "exec/kernels/image/image_loops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace quarkq::exec::QQ_ISA {

namespace {

/// sum[c] += |row[c]|^power; the two powers that occur have loops without calls.
template <typename T>
void add_power_row(const T* row, int64_t channels, T power, T* sum) {
  if (power == T(2)) {
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) sum[c] += row[c] * row[c];
  } else if (power == T(1)) {
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) sum[c] += std::fabs(row[c]);
  } else {
    for (int64_t c = 0; c < channels; ++c) sum[c] += std::pow(std::fabs(row[c]), power);
  }
}

#if defined(__AVX512F__)
constexpr int64_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int64_t kVectorBytes = 32;
#else
constexpr int64_t kVectorBytes = 16;
#endif

/// Channels [0, kVectors * width of a vector): their results stay in registers over all rows.
template <int kVectors, typename T, typename F>
void join_block(const T* source, const int64_t* offsets, int64_t count, T* out, F f) {
  typedef T Vector __attribute__((vector_size(kVectorBytes)));  // an alias with `using` does not take a T
  Vector joined[kVectors];
  std::memcpy(joined, source + offsets[0], sizeof(joined));
  for (int64_t i = 1; i < count; ++i) {
    for (int k = 0; k < kVectors; ++k) {
      Vector row;
      std::memcpy(&row, source + offsets[i] + k * kVectorBytes / static_cast<int64_t>(sizeof(T)), sizeof(row));
      joined[k] = f(joined[k], row);
    }
  }
  std::memcpy(out, joined, sizeof(joined));
}

/// out[c] = f(... f(row 0[c], row 1[c]) ..., last row[c])
template <typename T, typename F>
void join_rows(const T* source, const ScatteredRows& rows, T* out, F f) {
  const int64_t* offsets = rows.offsets;
  const int64_t count = rows.count, channels = rows.channels;
  constexpr int64_t kWidth = kVectorBytes / static_cast<int64_t>(sizeof(T));
  int64_t c = 0;
  for (; c + 4 * kWidth <= channels; c += 4 * kWidth) join_block<4>(source + c, offsets, count, out + c, f);
  for (; c + kWidth <= channels; c += kWidth) join_block<1>(source + c, offsets, count, out + c, f);
  if (c == channels) return;
  std::copy(source + offsets[0] + c, source + offsets[0] + channels, out + c);
  for (int64_t i = 1; i < count; ++i) {
    const T* row = source + offsets[i];
    for (int64_t k = c; k < channels; ++k) out[k] = f(out[k], row[k]);
  }
}

}  // namespace

template <typename T>
void max_rows(const T* source, const ScatteredRows& rows, T* out) {
  join_rows(source, rows, out, [](auto most, auto row) { return row > most ? row : most; });
}

template <typename T>
void max_rows_placed(const T* source, const ScatteredRows& rows, T* out, int64_t* places) {
  const int64_t* offsets = rows.offsets;
  const int64_t count = rows.count, channels = rows.channels;
  for (int64_t c = 0; c < channels; ++c) {
    out[c] = source[offsets[0] + c];
    places[c] = offsets[0] / channels;
  }
  for (int64_t i = 1; i < count; ++i) {
    const T* row = source + offsets[i];
    const int64_t place = offsets[i] / channels;
    for (int64_t c = 0; c < channels; ++c) {
      places[c] = row[c] > out[c] ? place : places[c];
      out[c] = row[c] > out[c] ? row[c] : out[c];
    }
  }
}

template <typename T>
void average_rows(const T* source, const ScatteredRows& rows, T factor, T* out) {
  const int64_t channels = rows.channels;
  join_rows(source, rows, out, [](auto sum, auto row) { return sum + row; });
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) out[c] *= factor;
}

template <typename T>
void norm_rows(const T* source, const ScatteredRows& rows, T power, T* out) {
  const int64_t channels = rows.channels;
  for (int64_t c = 0; c < channels; ++c) out[c] = T(0);
  for (int64_t i = 0; i < rows.count; ++i) add_power_row(source + rows.offsets[i], channels, power, out);
  for (int64_t c = 0; c < channels; ++c) {
    out[c] = power == T(2) ? std::sqrt(out[c]) : power == T(1) ? out[c] : std::pow(out[c], T(1) / power);
  }
}

template <typename T>
void add_rows(const T* source, const StridedRows& rows, T* sum) {
  const int64_t channels = rows.channels;
  for (int64_t r = 0; r < rows.rows; ++r) {
    const T* row = source + r * rows.stride;
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) sum[c] += row[c];
  }
}

template <typename T>
void add_powers(const T* source, const StridedRows& rows, T power, T* sum) {
  for (int64_t r = 0; r < rows.rows; ++r) add_power_row(source + r * rows.stride, rows.channels, power, sum);
}

template <typename T>
void max_into(const T* source, const StridedRows& rows, T* most) {
  const int64_t channels = rows.channels;
  for (int64_t r = 0; r < rows.rows; ++r) {
    const T* row = source + r * rows.stride;
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) most[c] = row[c] > most[c] ? row[c] : most[c];
  }
}

#define QQ_MAX_LOOPS(T)                                       \
  template void max_rows(const T*, const ScatteredRows&, T*); \
  template void max_rows_placed(const T*, const ScatteredRows&, T*, int64_t*);
#define QQ_REAL_LOOPS(T)                                             \
  QQ_MAX_LOOPS(T)                                                    \
  template void average_rows(const T*, const ScatteredRows&, T, T*); \
  template void norm_rows(const T*, const ScatteredRows&, T, T*);    \
  template void add_rows(const T*, const StridedRows&, T*);          \
  template void add_powers(const T*, const StridedRows&, T, T*);     \
  template void max_into(const T*, const StridedRows&, T*);
QQ_REAL_LOOPS(float)
QQ_REAL_LOOPS(double)
QQ_MAX_LOOPS(int8_t)
QQ_MAX_LOOPS(uint8_t)

namespace {

/// Four inputs at a time keep the output row in registers for the bilinear case.
void add_four(const float* x, const int64_t* offsets, const float* w, float* y, int64_t n) {
  const float *a = x + offsets[0], *b = x + offsets[1], *c = x + offsets[2], *d = x + offsets[3];
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += (a[i] * w[0] + b[i] * w[1]) + (c[i] * w[2] + d[i] * w[3]);
}

void add_one(const float* x, float w, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += x[i] * w;
}

}  // namespace

void weighted_rows(const RowSums& s, const float* x, float* y, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r, y += s.stride) {
    std::fill_n(y, s.channels, 0.0f);
    int64_t k = s.begin[r];
    const int64_t end = s.begin[r + 1];
    for (; k + 4 <= end; k += 4) add_four(x, s.offsets + k, s.weights + k, y, s.channels);
    for (; k < end; ++k) add_one(x + s.offsets[k], s.weights[k], y, s.channels);
    if (s.factor == nullptr) continue;
    const float factor = s.factor[r];
#pragma omp simd
    for (int64_t i = 0; i < s.channels; ++i) y[i] *= factor;
  }
}

void largest_rows(const RowSums& s, const float* x, float* y, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r, y += s.stride) {
    const int64_t first = s.begin[r], end = s.begin[r + 1];
    if (first == end) std::fill_n(y, s.channels, 0.0f);
    for (int64_t k = first; k < end; ++k) {
      const float* from = x + s.offsets[k];
      const float w = s.weights[k];
      if (k == first) {
#pragma omp simd
        for (int64_t i = 0; i < s.channels; ++i) y[i] = from[i] * w;
        continue;
      }
#pragma omp simd
      for (int64_t i = 0; i < s.channels; ++i) {
        const float v = from[i] * w;
        y[i] = v > y[i] ? v : y[i];
      }
    }
  }
}

}  // namespace quarkq::exec::QQ_ISA
