// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>

#include "exec/kernels/quantized/quantized_loops.h"

namespace quarkq::exec::QQ_ISA {
namespace {

constexpr int64_t kDepthBlock = 32768;  ///< 255 * 255 * 32768 is below 2^31

void add_wrapping(int32_t& sum, int32_t part) {
  sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(part));
}

// Integer sums vectorize by themselves; a simd pragma would keep the compiler from the instruction that multiplies and
// adds pairs.
int32_t dot(const int16_t* x, const int16_t* w, int64_t n) {
  int32_t sum = 0;
  for (int64_t k = 0; k < n; ++k) sum += static_cast<int32_t>(x[k]) * w[k];
  return sum;
}

/// Four rows of x times two rows of w, `n` elements of each: 8 products for 6 elements read.
void dot_rows(const int16_t* x, const int16_t* w, const IntegerProduct& product, int64_t n, int32_t* sums) {
  const int64_t depth = product.depth, stride = product.columns;
  const int16_t *x1 = x + depth, *x2 = x1 + depth, *x3 = x2 + depth, *v = w + depth;
  int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
  for (int64_t k = 0; k < n; ++k) {
    s0 += static_cast<int32_t>(x[k]) * w[k];
    s1 += static_cast<int32_t>(x1[k]) * w[k];
    s2 += static_cast<int32_t>(x2[k]) * w[k];
    s3 += static_cast<int32_t>(x3[k]) * w[k];
    t0 += static_cast<int32_t>(x[k]) * v[k];
    t1 += static_cast<int32_t>(x1[k]) * v[k];
    t2 += static_cast<int32_t>(x2[k]) * v[k];
    t3 += static_cast<int32_t>(x3[k]) * v[k];
  }
  const int32_t parts[] = {s0, t0, s1, t1, s2, t2, s3, t3};
  for (int64_t i = 0; i < 8; ++i) add_wrapping(sums[i / 2 * stride + i % 2], parts[i]);
}

template <typename Q>
void widen(const Q* x, int16_t* y, int64_t n, int32_t zero_point) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<int16_t>(x[i] - zero_point);
}

template <typename Q>
void requantize(const int32_t* sums, Q* y, int64_t n, const Requantization& r) {
  const auto low = static_cast<float>(std::numeric_limits<Q>::lowest() - r.zero_point);
  const auto high = static_cast<float>(std::numeric_limits<Q>::max() - r.zero_point);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float steps = static_cast<float>(sums[i]) * r.scale[i];
    float v = steps > low ? steps : low;  // NaN -> low
    v = v < high ? v : high;
    y[i] = static_cast<Q>(static_cast<int32_t>(std::rint(v)) + r.zero_point);
  }
}

}  // namespace

void integer_products(const int16_t* x, const int16_t* w, const IntegerProduct& product, int32_t* sums) {
  const int64_t rows = product.rows, depth = product.depth, columns = product.columns;
  std::fill_n(sums, rows * columns, 0);
  for (int64_t begin = 0; begin < depth; begin += kDepthBlock) {
    const int64_t n = std::min(kDepthBlock, depth - begin);
    int64_t c = 0;
    for (; rows == kProductRows && c + 2 <= columns; c += 2) {
      dot_rows(x + begin, w + c * depth + begin, product, n, sums + c);
    }
    for (; c < columns; ++c) {
      const int16_t* column = w + c * depth + begin;
      for (int64_t r = 0; r < rows; ++r) add_wrapping(sums[r * columns + c], dot(x + r * depth + begin, column, n));
    }
  }
}

void widen_i8(const int8_t* x, int16_t* y, int64_t n, int32_t zero_point) { widen(x, y, n, zero_point); }
void widen_u8(const uint8_t* x, int16_t* y, int64_t n, int32_t zero_point) { widen(x, y, n, zero_point); }

void requantize_to_i8(const int32_t* sums, int8_t* y, int64_t n, const Requantization& r) { requantize(sums, y, n, r); }
void requantize_to_u8(const int32_t* sums, uint8_t* y, int64_t n, const Requantization& r) {
  requantize(sums, y, n, r);
}

}  // namespace quarkq::exec::QQ_ISA
