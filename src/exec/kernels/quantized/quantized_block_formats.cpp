// SPDX-License-Identifier: MIT
// BFPQuantizeDequantize and MXQuantizeDequantize (ref:operators#block-floating-point, ref:operators#microscaling):
// checks and threads around numeric/block_formats.h.
#include <bit>

#include "exec/kernels/quantized/quantized.h"
#include "exec/kernels/shared/support.h"
#include "exec/kernels/shared/type_bridges.h"
#include "numeric/block_formats.h"

namespace quarkq::exec {

namespace {

using numeric::BlockRounding;
using numeric::BlockSplit;

/// An integer attribute within [low, high].
Result<int64_t> read_int(const Prepare& p, std::string_view attribute, int64_t fallback, int64_t low, int64_t high) {
  const int64_t value = p.node().int_or(attribute, fallback);
  if (value >= low && value <= high) return value;
  return p.corrupt(attribute, " is ", value, ", allowed: ", low, " to ", high);
}

BlockRounding read_rounding(const Prepare& p) { return numeric::block_rounding(p.node().int_or("rounding_mode", 0)); }

/// Blocks along the axis, which are not vectorized. A block longer than the axis differs from one that ends with
/// it only in zeros, which change nothing; a block size from a file must not decide how much memory is taken.
Result<BlockSplit> read_split(const Prepare& p, int64_t default_block) {
  const Spec& x = p.in(0);
  QQ_TRY(const int64_t block, read_int(p, "block_size", default_block, 1, int64_t{1} << 31));
  int64_t axis = 0;
  if (x.rank() > 1) {
    QQ_TRY(axis, p.axis(p.node().int_or("axis", 1), x.rank()));
  }
  const AxisView view = x.rank() == 0 ? AxisView{} : axis_view(x.dims, axis);
  return BlockSplit{view.outer, view.count, view.inner, std::min(block, std::max<int64_t>(view.count, 1))};
}

/// convert(x, y, begin, end) over the blocks. One element alone stays what it is.
template <typename Convert>
Result<Kernel> block_kernel(Prepare& p, const BlockSplit& split, const Convert& convert) {
  p.out(0, p.in(0).type, p.in(0).dims);
  if (product(p.in(0).dims) == 1) {
    p.alias(0, 0, p.in(0).dims);
    return no_kernel();
  }
  return bridged(p, [split, convert](const Run& run) {
    for_rows(split.count(), split.block,
             [&](int64_t begin, int64_t end) { convert(run.in<float>(0), run.out<float>(0), begin, end); });
    return Status();
  });
}

Status read_sub_blocks(const Prepare& p, BlockSplit& split, numeric::BfpSettings& settings) {
  const int64_t block = p.node().int_or("block_size", 8);
  QQ_TRY(const int64_t width, read_int(p, "sub_block_size", 2, 1, int64_t{1} << 31));
  QQ_TRY(const int64_t shift, read_int(p, "sub_block_shift_bits", 1, 0, 8));
  if (block % width != 0) return p.cannot("sub_block_size ", width, " does not divide block_size ", block);
  settings.sub_block_shift_bits = static_cast<int>(shift);
  settings.sub_block_size = std::min(width, std::max<int64_t>(split.length, 1));
  const int64_t parts = (split.block + settings.sub_block_size - 1) / settings.sub_block_size;
  split.block = parts * settings.sub_block_size;  // whole sub-blocks again, after the block was shortened
  return Status();
}

}  // namespace

Result<Kernel> prepare_bfp(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0, {ElementType::kFloat, ElementType::kFloat16}));
  QQ_TRY(BlockSplit split, read_split(p, 8));
  const std::string method = p.node().string_or("bfp_method", "to_bfp");
  const bool prime = method == "to_bfp_prime" || method == "to_bfp_prime_shared";
  if (!prime && method != "to_bfp") {
    return p.corrupt("bfp_method is '", method, "', allowed: to_bfp, to_bfp_prime, to_bfp_prime_shared");
  }
  QQ_TRY(const int64_t width, read_int(p, "bit_width", 16, numeric::kBfpLeastBits, numeric::kBfpMostBits));
  numeric::BfpSettings settings;
  settings.method = prime ? numeric::BfpMethod::kBfpPrime : numeric::BfpMethod::kBfp;
  settings.bit_width = static_cast<int>(width);
  settings.rounding = read_rounding(p);
  settings.bfloat_first = p.node().int_or("convert_to_bfloat_before_bfp", 0) != 0;
  settings.compiler_exponents = p.node().int_or("use_compiler_version_cpu_kernel", 0) != 0;
  if (prime) QQ_RETURN_IF_ERROR(read_sub_blocks(p, split, settings));
  return block_kernel(p, split, [split, settings](const float* x, float* y, int64_t begin, int64_t end) {
    numeric::convert_bfp(x, y, split, {begin, end}, settings);
  });
}

Result<Kernel> prepare_mx(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0, {ElementType::kFloat, ElementType::kFloat16}));
  QQ_TRY(const BlockSplit split, read_split(p, 32));
  const std::string element = p.node().string_or("element_dtype", "int8");
  const numeric::MxSettings settings{numeric::find_mx_element(element), read_rounding(p),
                                     p.node().int_or(numeric::kRoundScaleUp, 0) != 0};
  if (settings.element == nullptr) {
    return p.corrupt("element_dtype is '", element, "', allowed: ", numeric::mx_element_names());
  }
  return block_kernel(p, split, [split, settings](const float* x, float* y, int64_t begin, int64_t end) {
    numeric::convert_mx(x, y, split, {begin, end}, settings);
  });
}

// ExtendedInstanceNormalization (ref:operators#instance-normalization): instance normalization as bfloat16 hardware
// computes it. Sums run sequentially, so that the bits are the reference's.

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
