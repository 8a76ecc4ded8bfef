// SPDX-License-Identifier: MIT
// Vectorized steps of the block formats (block_loops.isa.cpp alone includes this): what rows of elements tell about
// their blocks, one int32 "field" per element or column; the maximum of neighbours; converting by it.
#pragma once

#include <cstring>
#include <utility>

#include "numeric/block_elements.h"

namespace quarkq::numeric::QQ_ISA {
namespace {

template <typename Format>
void raise_fields(const float* x, int32_t* fields, int64_t n, const Format format) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const int field = format.field(x[i]);
    fields[i] = fields[i] > field ? fields[i] : field;
  }
}
template <typename Format>
void mark_growth(const float* x, const int32_t* fields, int32_t* marks, int64_t n, const Format format) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) marks[i] |= format.grows(x[i], fields[i]);
}
template <typename Format>
void shift_fields(const int32_t* fields, int32_t* parts, int64_t n, const Format format) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) parts[i] = format.shifted(fields[i], parts[i]);
}
template <typename Format>
void convert_row(const float* x, const int32_t* fields, float* y, int64_t n, const Format format) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = format.convert(x[i], fields[i]);
}
inline void add_row(const int32_t* x, int32_t* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}
inline void clear(int32_t* x, int64_t n) { std::memset(x, 0, static_cast<size_t>(n) * sizeof(int32_t)); }

// ---- maxima of neighbours -------------------------------------------------------------------------------------------

constexpr size_t kLanes = __BIGGEST_ALIGNMENT__ / sizeof(int32_t);  // of the widest vectors: 4, 8 or 16
using Lanes __attribute__((vector_size(kLanes * sizeof(int32_t)))) = int32_t;

inline Lanes load(const int32_t* x) {
  Lanes v;
  std::memcpy(&v, x, sizeof v);
  return v;
}

template <size_t kStep, size_t... kLane>
Lanes exchanged(Lanes v, std::index_sequence<kLane...>) {
  return __builtin_shufflevector(v, v, (kLane ^ kStep)...);
}
/// The larger of each lane and the one `kStep` away within its pair of groups.
template <size_t kStep>
Lanes pair_max(Lanes v) {
  if constexpr (kStep >= kLanes) {
    return v;
  } else {
    const Lanes other = exchanged<kStep>(v, std::make_index_sequence<kLanes>());
    return v > other ? v : other;
  }
}
/// The maximum of each group of `group` lanes (a power of two) in all its lanes.
inline Lanes group_max(Lanes v, int64_t group) {
  if (group > 1) v = pair_max<1>(v);
  if (group > 2) v = pair_max<2>(v);
  if (group > 4) v = pair_max<4>(v);
  if (group > 8) v = pair_max<8>(v);
  return v;
}

/// The same in memory; groups wider than a vector are whole vectors. `n` may end within a vector that there is.
inline void spread_max(int32_t* values, int64_t n, int64_t group) {
  constexpr auto kWidth = static_cast<int64_t>(kLanes);
  const int64_t span = group > kWidth ? group : kWidth;
  for (int64_t first = 0; first < n; first += span) {
    Lanes most = load(values + first);
    for (int64_t i = kWidth; i < span; i += kWidth) {
      const Lanes more = load(values + first + i);
      most = most > more ? most : more;
    }
    most = group_max(most, group);
    for (int64_t i = 0; i < span; i += kWidth) std::memcpy(values + first + i, &most, sizeof most);
  }
}

}  // namespace
}  // namespace quarkq::numeric::QQ_ISA
