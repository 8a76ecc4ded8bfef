// SPDX-License-Identifier: MIT
// The operators of com.amd.quark around numeric/block_formats.h, and ExtendedInstanceNormalization
// (ref:operators#block-floating-point, ref:operators#instance-normalization).
#include "numeric/block_formats.h"
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

constexpr const char* kQuark = "com.amd.quark";
constexpr const char* kVitis = "com.vai.quantize";

OpCall bfp(std::vector<ir::Attribute> attributes) {
  return {"BFPQuantizeDequantize", kQuark, 1, std::move(attributes)};
}
OpCall mx(std::vector<ir::Attribute> attributes) { return {"MXQuantizeDequantize", kQuark, 1, std::move(attributes)}; }
ir::Tensor sevenths() {
  std::vector<float> x;
  for (int i = 1; i <= 12; ++i) x.push_back(static_cast<float>(i) / 7);
  return floats({2, 6}, x);
}

TEST(BlockFormatsTest, BlocksAlongEitherAxis) {
  const std::vector<double> rows = {.140625, .2890625, .4296875, .5703125, .7109375, .859375,
                                    1,       1.140625, 1.28125,  1.421875, 1.578125, 1.71875};
  const std::vector<double> columns = {.140625, .28125,   .421875, .578125,  .71875,   .859375,
                                       1,       1.140625, 1.28125, 1.421875, 1.578125, 1.71875};
  const ir::Attribute block = number("block_size", 4);
  expect_op(bfp({block}), {sevenths()}, {2, 6}, rows, 0);
  expect_op(bfp({block, number("axis", -1)}), {sevenths()}, {2, 6}, rows, 0);
  expect_op(bfp({block, number("axis", 0)}), {sevenths()}, {2, 6}, columns, 0);
  expect_op(bfp({block, number("axis", -2)}), {sevenths()}, {2, 6}, columns, 0);
  OpCall former = bfp({block});
  former.op = "BFPFixNeuron";
  former.domain = kVitis;
  expect_op(former, {sevenths()}, {2, 6}, rows, 0);
}

/// Every axis of an image in both layouts, against blocks taken by hand and filled up with zeros.
TEST(BlockFormatsTest, EveryAxisOfAnImage) {
  const ir::Tensor x = random_floats({2, 5, 3, 7}, -4, 4);
  for (int64_t axis = 0; axis < 4; ++axis) {
    const auto a = static_cast<size_t>(axis);
    for (const int64_t block : {int64_t{1}, int64_t{2}, int64_t{4}, int64_t{64}}) {
      std::vector<double> as_mx, as_bfp;
      for_each_index(x.dims(), [&](const ir::Shape& index) {
        ir::Shape other = index;
        std::vector<float> values(static_cast<size_t>(block));
        const int64_t first = index[a] / block * block;
        for (int64_t i = 0; i < block && first + i < x.dims()[a]; ++i) {
          other[a] = first + i;
          values[static_cast<size_t>(i)] = static_cast<float>(at(x, other));
        }
        std::vector<float> copy = values;
        numeric::convert_mx_block(values, {numeric::find_mx_element("fp4_e2m1")});
        as_mx.push_back(static_cast<double>(values[static_cast<size_t>(index[a] - first)]));
        numeric::BfpSettings settings;
        settings.method = block % 2 == 0 ? numeric::BfpMethod::kBfpPrime : numeric::BfpMethod::kBfp;
        settings.bit_width = 13;
        numeric::convert_bfp_block(copy, settings);
        as_bfp.push_back(static_cast<double>(copy[static_cast<size_t>(index[a] - first)]));
      });
      expect_op(
          mx({attribute("element_dtype", std::string("fp4_e2m1")), number("axis", axis), number("block_size", block)}),
          {x}, x.dims(), as_mx, 0);
      expect_op(bfp({attribute("bfp_method", std::string(block % 2 == 0 ? "to_bfp_prime" : "to_bfp")),
                     number("axis", axis), number("block_size", block), number("bit_width", 13)}),
                {x}, x.dims(), as_bfp, 0);
    }
  }
}

TEST(BlockFormatsTest, OneElementStaysAndVectorsIgnoreTheAxis) {
  for (const ir::Shape& dims : {ir::Shape{}, ir::Shape{1}, ir::Shape{1, 1, 1}}) {
    expect_op(bfp({}), {floats(dims, {0.3f})}, dims, {static_cast<double>(0.3f)}, 0);
    expect_op(mx({}), {floats(dims, {0.3f})}, dims, {static_cast<double>(0.3f)}, 0);
  }
  expect_op(bfp({number("axis", 9)}), {floats({2}, {1, 0.3f})}, {2}, {1, 0.296875}, 0);
  expect_op(mx({number("axis", 9)}), {floats({2}, {1, 0.3f})}, {2}, {1, 0.296875}, 0);
  expect_op(bfp({number("block_size", 1 << 30)}), {floats({2}, {1, 0.3f})}, {2}, {1, 0.296875}, 0);
  expect_op(bfp({}), {floats({0, 3}, {})}, {0, 3}, {}, 0);
}

TEST(BlockFormatsTest, HalfPrecisionInputs) {
  const ir::Tensor x = as_type(floats({2}, {1, 0.3f}), ElementType::kFloat16);
  const auto y = run_op(bfp({}), {x});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ(y.value()[0].type(), ElementType::kFloat16);
  expect_near(y.value()[0], {1, 0.296875}, 0);
}

TEST(BlockFormatsTest, RejectsWhatDoesNotFit) {
  const ir::Tensor x = sevenths();
  expect_error(bfp({number("axis", 2)}), {x}, "outside");
  expect_error(mx({number("axis", -3)}), {x}, "outside");
  expect_error(bfp({number("block_size", 0)}), {x}, "block_size is 0, allowed: 1");
  expect_error(mx({number("block_size", -8)}), {x}, "block_size is -8");
  expect_error(bfp({number("bit_width", 9)}), {x}, "bit_width is 9, allowed: 10 to 32");
  expect_error(bfp({number("bit_width", 33)}), {x}, "bit_width is 33");
  expect_error(bfp({attribute("bfp_method", std::string("to_mx"))}), {x}, "bfp_method is 'to_mx'");
  const ir::Attribute prime = attribute("bfp_method", std::string("to_bfp_prime"));
  expect_error(bfp({prime, number("sub_block_size", 3)}), {x}, "sub_block_size 3 does not divide block_size 8");
  expect_error(bfp({prime, number("sub_block_size", 0)}), {x}, "sub_block_size is 0");
  expect_error(bfp({prime, number("sub_block_shift_bits", 40)}), {x}, "sub_block_shift_bits is 40");
  expect_error(mx({attribute("element_dtype", std::string("fp5"))}), {x}, "element_dtype is 'fp5', allowed: fp8_e5m2");
  expect_error(bfp({}), {ints({1, 2})}, "allowed: FLOAT, FLOAT16");
  expect_error(mx({}), {}, "missing");
}

TEST(BlockFormatsTest, ExtendedInstanceNormalization) {
  const ir::Tensor x = floats({1, 2, 2, 2}, {1, 2, 3, 4.5f, -1, .3f, .25f, .125f});
  const ir::Tensor scale = floats({2}, {1.1f, .9f}), bias = floats({2}, {.1f, -.2f});
  const std::vector<double> expected = {-1.2890625, -0.43359375, 0.41015625,  1.703125,
                                        -1.7421875, 0.44140625,  0.357421875, 0.1474609375};
  for (const char* domain : {kQuark, kVitis}) {
    const char* op = domain == kQuark ? "ExtendedInstanceNormalization" : "VitisInstanceNormalization";
    expect_op({op, domain, 1, {attribute("epsilon", 1e-5f)}}, {x, scale, bias}, {1, 2, 2, 2}, expected, 0);
    expect_op({op, domain, 1}, {x, scale, bias}, {1, 2, 2, 2}, expected, 0);
    expect_error({op, domain, 1}, {x, floats({3}, {1, 1, 1}), bias}, "input 1 is [3], [2] is needed");
    expect_error({op, domain, 1}, {floats({2}, {1, 2}), scale, bias}, "rank 1, at least 2");
    expect_error({op, domain, 1}, {x, scale}, "input 2 is missing");
  }
}

}  // namespace
}  // namespace quarkq::test
