// SPDX-License-Identifier: MIT
// MatMul, Gemm, Conv and ConvTranspose in types other than float32.
#include "exec/kernels/shared/float_rows.h"
#include "numeric/element_type.h"
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

using Ints = std::vector<int64_t>;

template <typename T>
ir::Tensor numbers(ir::Shape dims, std::vector<T> values) {
  return ir::Tensor::from<T>(std::move(dims), values);
}

TEST(ProductTypesTest, IntegersAreExactAndWrap) {
  expect_op({"MatMul"}, {numbers<int64_t>({2, 2}, {1, int64_t{1} << 40, -3, 4}), numbers<int64_t>({2}, {5, 6})}, {2},
            {5 + 6.0 * (int64_t{1} << 40), 9}, 0);
  expect_op({"MatMul"}, {numbers<uint32_t>({1, 2}, {4294967295u, 2}), numbers<uint32_t>({2, 1}, {2, 3})}, {1, 1}, {4.0},
            0);
  expect_op({"MatMul"}, {numbers<int32_t>({1, 1}, {2147483647}), numbers<int32_t>({1, 1}, {2})}, {1, 1}, {-2}, 0);
  expect_op({"MatMul"}, {numbers<uint64_t>({2, 1, 1}, {7, 9}), numbers<uint64_t>({1, 1, 2}, {3, 5})}, {2, 1, 2},
            {21, 35, 27, 45}, 0);
  expect_op({"MatMul"}, {numbers<int32_t>({2, 1, 2}, {1, 2, 3, 4}), numbers<int32_t>({2, 2, 1}, {5, 6, 7, 8})},
            {2, 1, 1}, {17, 53}, 0);
  expect_error({"MatMul"}, {numbers<int8_t>({1, 1}, {1}), numbers<int8_t>({1, 1}, {1})}, "input 0 is INT8");
  expect_error({"MatMul"}, {floats({1, 1}, {1}), numbers<int32_t>({1, 1}, {1})}, "input 1 is INT32");
}

TEST(ProductTypesTest, DoublesKeepTheirDigits) {
  const double tiny = 1e-12;
  const ir::Tensor a = numbers<double>({1, 2}, {1.0, tiny}), b = numbers<double>({2, 1}, {1.0, 1.0});
  const auto result = run_op({"MatMul"}, {a, b});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value()[0].data<double>()[0], 1.0 + tiny);
}

TEST(ProductTypesTest, GemmTransposesScalesAndAdds) {
  const std::vector attributes = {attribute("transA", int64_t{1}), attribute("transB", int64_t{1}),
                                  attribute("alpha", 0.5f), attribute("beta", 2.0f)};
  // A' = [[1, 3], [2, 4]], B' = [[5, 7], [6, 8]]: A' * B' = [[23, 31], [34, 46]]
  const std::vector<double> expected = {11.5 + 20, 15.5 + 20, 17 + 40, 23 + 40};
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    expect_op({"Gemm", "", 11, attributes},
              {numbers<T>({2, 2}, {T(1), T(2), T(3), T(4)}), numbers<T>({2, 2}, {T(5), T(6), T(7), T(8)}),
               numbers<T>({2, 1}, {T(10), T(20)})},
              {2, 2}, std::is_integral_v<T> ? std::vector<double>{31, 35, 57, 63} : expected, 0);
  };
  run(0.0f);
  run(0.0);
  run(int32_t{0});
  run(int64_t{0});
  run(uint32_t{0});
  run(uint64_t{0});
}

TEST(ProductTypesTest, GemmOfOldOpsetsAndWithoutElements) {
  const ir::Tensor a = floats({1, 2}, {1, 2}), b = floats({2, 2}, {1, 2, 3, 4});
  expect_op({"Gemm", "", 6, {attribute("broadcast", int64_t{1})}}, {a, b, floats({2}, {10, 20})}, {1, 2}, {17, 30});
  expect_op({"Gemm"}, {floats({2, 0}, {}), floats({0, 2}, {}), floats({2}, {1, 2})}, {2, 2}, {1, 2, 1, 2});
  expect_op({"Gemm"}, {floats({0, 2}, {}), b}, {0, 2}, {});
  expect_op({"MatMul"}, {floats({2, 0}, {}), floats({0, 1}, {})}, {2, 1}, {0, 0});
  expect_op({"MatMul"}, {floats({2, 0, 3}, {}), floats({3, 1}, {1, 2, 3})}, {2, 0, 1}, {});
  expect_error({"Gemm"}, {a, b, floats({3}, {1, 2, 3})}, "does not broadcast");
  expect_error({"Gemm"}, {a, floats({3, 2}, {1, 2, 3, 4, 5, 6})}, "inner dimensions differ");
}

/// |found - expected| relative to the largest: what one rounding to `type` allows.
double bound(ElementType type) {
  return type == ElementType::kFloat16 ? 1.0 / 2048 : type == ElementType::kBFloat16 ? 1.0 / 256 : 1e-6;
}

/// The call on inputs rounded to each type equals the float call on the same rounded inputs, rounded once.
void expect_types(const OpCall& call, const std::vector<ir::Tensor>& inputs) {
  for (const ElementType type : {ElementType::kFloat16, ElementType::kBFloat16, ElementType::kDouble}) {
    std::vector<ir::Tensor> rounded, wide;
    for (const ir::Tensor& input : inputs) {
      rounded.push_back(as_type(input, type));
      std::vector<float> back;
      for (const double value : values(rounded.back())) back.push_back(static_cast<float>(value));
      wide.push_back(floats(input.dims(), back));
    }
    const auto expected = run_op(call, wide);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    const auto found = run_op(call, rounded);
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_EQ(found.value()[0].type(), type);
    ASSERT_EQ(found.value()[0].dims(), expected.value()[0].dims());
    if (type == ElementType::kDouble) {
      expect_near(found.value()[0], values(expected.value()[0]), bound(type));
    } else {
      EXPECT_TRUE(found.value()[0].same_as(as_type(expected.value()[0], type))) << call.op << " in " << name(type);
    }
  }
}

TEST(ProductTypesTest, ProductsRoundOnce) {
  expect_types({"MatMul"}, {random_floats({3, 17}), random_floats({17, 33}, -1, 1, 2)});
  expect_types({"MatMul"}, {random_floats({2, 3, 5}), random_floats({2, 5, 4}, -1, 1, 2)});
  expect_types({"Gemm", "", 13, {attribute("transA", int64_t{1}), attribute("alpha", 0.5f)}},
               {random_floats({17, 3}), random_floats({17, 6}, -1, 1, 2), random_floats({6}, -1, 1, 3)});
}

TEST(ProductTypesTest, ConvolutionsRoundOnce) {
  const std::vector attributes = {attribute("pads", Ints{1, 0, 1, 2}), attribute("strides", Ints{2, 1}),
                                  attribute("dilations", Ints{1, 2}), attribute("group", int64_t{2})};
  expect_types({"Conv", "", 11, attributes},
               {random_floats({2, 4, 9, 8}), random_floats({6, 2, 3, 3}, -1, 1, 2), random_floats({6}, -1, 1, 3)});
  expect_types({"ConvTranspose", "", 11, attributes},
               {random_floats({2, 4, 5, 8}), random_floats({4, 3, 3, 3}, -1, 1, 2), random_floats({6}, -1, 1, 3)});
  const std::vector wide = {attribute("pads", Ints{2, 5, 0, 1}), attribute("strides", Ints{4, 6}),
                            attribute("dilations", Ints{6, 3})};  // places that no tap meets
  expect_types({"Conv", "", 11, wide}, {random_floats({1, 2, 17, 16}), random_floats({3, 2, 4, 5}, -1, 1, 2)});
  expect_types({"ConvTranspose", "", 11, wide}, {random_floats({1, 2, 5, 4}), random_floats({2, 3, 4, 5}, -1, 1, 2)});
  expect_types({"Conv", "", 11, {attribute("pads", Ints{1, 1})}},
               {random_floats({1, 3, 7}), random_floats({5, 3, 3}, -1, 1, 2)});
  expect_error({"Conv"}, {as_type(random_floats({1, 3, 7}), ElementType::kFloat16), random_floats({5, 3, 3})},
               "input 1 is FLOAT, allowed: FLOAT16");
}

TEST(ProductTypesTest, ConvolutionOfNoImages) {
  expect_op({"Conv"}, {floats({0, 3, 7}, {}), random_floats({5, 3, 3})}, {0, 5, 5}, {});
}

TEST(HalfLoopsTest, EqualTheirDefinition) {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  std::vector<float> found(halves.size());
  std::vector<uint16_t> back(halves.size());
  const auto n = static_cast<int64_t>(halves.size());
  QQ_DISPATCH(exec, floats_from_float16)(halves.data(), found.data(), n);
  for (size_t i = 0; i < halves.size(); ++i) {
    const float expected = float_from_float16(halves[i]);
    ASSERT_TRUE(found[i] == expected || (std::isnan(found[i]) && std::isnan(expected))) << i;
  }
  std::vector<float> inputs;  // each value, its neighbours, the ties between values
  for (const float value : found) {
    for (const int32_t step : {-4097, -4096, -4095, -1, 0, 1, 4095, 4096, 4097}) {
      inputs.push_back(std::bit_cast<float>(std::bit_cast<uint32_t>(value) + static_cast<uint32_t>(step)));
    }
  }
  for (const float extreme : {3.4e38f, -3.4e38f, 1e-40f, 65519.9f, 65520.0f, 2.9e-8f, 2.98023224e-8f})
    inputs.push_back(extreme);
  std::vector<uint16_t> rounded(inputs.size()), brain(inputs.size());
  QQ_DISPATCH(exec, float16_from_floats)(inputs.data(), rounded.data(), static_cast<int64_t>(inputs.size()));
  QQ_DISPATCH(exec, bfloat16_from_floats)(inputs.data(), brain.data(), static_cast<int64_t>(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(rounded[i], float16_from_float(inputs[i])) << inputs[i];
    ASSERT_EQ(brain[i], bfloat16_from_float(inputs[i])) << inputs[i];
  }
}

}  // namespace
}  // namespace quarkq::test
