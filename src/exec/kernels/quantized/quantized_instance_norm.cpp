// SPDX-License-Identifier: MIT
// ExtendedInstanceNormalization (ref:operators#instance-normalization): instance normalization as bfloat16 hardware
// computes it. Sums run sequentially, so that the bits are the reference's.
#include <bit>

#include "exec/kernels/quantized/quantized.h"
#include "exec/kernels/shared/support.h"
#include "numeric/bfp.h"

namespace quarkq::exec {
namespace {

using numeric::bfloat16_rounded;
using numeric::exponent_field;

/// A float as the sum of three bfloat16.
struct Split3 {
  float high, middle, low;
  explicit Split3(float x)
      : high(bfloat16_rounded(x)), middle(bfloat16_rounded(x - high)), low(bfloat16_rounded(x - high - middle)) {}
};

/// `x` without what lies below the last bit of a number with exponent field `field`.
float align(float x, int field) {
  const uint32_t sign = std::bit_cast<uint32_t>(x) & 0x80000000u;
  const auto anchor = std::bit_cast<float>(sign | (static_cast<uint32_t>(std::min(field, 254)) << 23));
  return (x + anchor) - anchor;
}

int product_field(float a, float b) { return exponent_field(a) + exponent_field(b) - 127; }

/// a * b + c, both summands aligned to the larger exponent.
float accumulate(float a, float b, float c) {
  const int field = std::max(product_field(a, b), exponent_field(c));
  return align(c, field) + align(a * b, field);
}

/// c - a * b from products of bfloat16 parts, smallest first.
float subtract_product(float a, float b, float c) {
  const Split3 x(a), y(-b);
  float terms = x.low * y.low;
  terms = accumulate(x.low, y.middle, terms);
  terms = accumulate(x.middle, y.low, terms);
  terms = accumulate(x.high, y.low, terms);
  terms = accumulate(x.middle, y.middle, terms);
  terms = accumulate(x.low, y.high, terms);
  terms = accumulate(x.middle, y.high, terms);
  terms = accumulate(x.high, y.middle, terms);
  const float largest = x.high * y.high;
  const int field = std::max({product_field(x.high, y.high), exponent_field(terms), exponent_field(c)});
  return (align(terms, field) + align(c, field)) + align(largest, field);
}

struct Affine {
  float scale = 1, bias = 0;
};

void normalize(const float* x, float* y, int64_t n, Affine affine, float epsilon) {
  float sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float value = bfloat16_rounded(x[i]);
    sum += value;
    const double wide = value;
    squares = static_cast<float>(static_cast<double>(squares) + wide * wide);
  }
  const auto inverse = static_cast<float>(1.0 / static_cast<double>(n));
  const float mean = sum * inverse, mean_square = squares * inverse;
  const float variance = subtract_product(mean, mean, mean_square);
  const float factor = bfloat16_rounded(std::pow(variance + epsilon, -0.5f));
  const float shift = bfloat16_rounded(bfloat16_rounded(mean) * factor);
  for (int64_t i = 0; i < n; ++i) {
    const float scaled = bfloat16_rounded(bfloat16_rounded(x[i]) * factor);
    const float centered = bfloat16_rounded(scaled - shift);
    y[i] = bfloat16_rounded(affine.scale * centered + affine.bias);
  }
}

}  // namespace

Result<Kernel> prepare_extended_instance_norm(Prepare& p) {
  for (const size_t i : {size_t{0}, size_t{1}, size_t{2}}) {
    QQ_RETURN_IF_ERROR(p.require_input(i, {ElementType::kFloat}));
  }
  const Spec& x = p.in(0);
  if (x.rank() < 2) return p.corrupt("input 0 has rank ", x.rank(), ", at least 2 is needed");
  const int64_t channels = x.dims[1], size = product(x.dims, 2, x.rank());
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (p.in(i).dims == ir::Shape{channels}) continue;
    return p.corrupt("input ", i, " is ", shape_text(p.in(i).dims), ", ", shape_text({channels}), " is needed");
  }
  p.out(0, ElementType::kFloat, x.dims);
  const float epsilon = p.node().float_or("epsilon", 1e-5f);
  return Kernel([rows = x.dims[0] * channels, channels, size, epsilon](const Run& run) {
    for_rows(rows, size, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t channel = row % channels;
        const Affine affine{bfloat16_rounded(run.in<float>(1)[channel]), bfloat16_rounded(run.in<float>(2)[channel])};
        normalize(run.in<float>(0) + row * size, run.out<float>(0) + row * size, size, affine, epsilon);
      }
    });
    return Status();
  });
}

}  // namespace quarkq::exec
