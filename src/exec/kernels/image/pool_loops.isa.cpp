// SPDX-License-Identifier: MIT
#include "exec/kernels/image/pool_loops.h"

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

}  // namespace quarkq::exec::QQ_ISA
