// SPDX-License-Identifier: MIT
#include "numeric/linear_quant.h"
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

using numeric::Overflow;

constexpr const char* kQuark = "com.amd.quark";
ir::Tensor typed(ElementType type, const ir::Shape& dims, std::vector<float> values) {
  return as_type(floats(dims, values), type);
}

TEST(QuantDequantTest, PerTensorInEveryDomain) {
  const ir::Tensor x = floats({6}, {0.5f, 1.5f, 2.5f, -0.5f, 1000, -1000});
  const ir::Tensor scale = floats({}, {1}), zero = typed(ElementType::kInt8, {}, {3});
  const std::vector<double> q = {3, 5, 5, 3, 127, -128};
  expect_op({"QuantizeLinear", "", 13}, {x, scale, zero}, {6}, q);
  expect_op({"QuantizeLinear", "com.microsoft", 1}, {x, scale, zero}, {6}, q);
  expect_op({"ExtendedQuantizeLinear", kQuark, 1}, {x, scale, zero}, {6}, q);
  expect_op({"QuantizeLinear", "", 10}, {x, scale}, {6}, {0, 2, 2, 0, 255, 0});
  const ir::Tensor stored = typed(ElementType::kInt8, {3}, {3, 5, -128});
  for (const char* domain : {"", "com.microsoft"}) {
    expect_op({"DequantizeLinear", domain, 13}, {stored, floats({1}, {0.5f}), typed(ElementType::kInt8, {1}, {3})}, {3},
              {0, 1, -65.5});
  }
  expect_op({"ExtendedDequantizeLinear", kQuark, 1}, {stored, scale, zero}, {3}, {0, 2, -131});
  expect_op({"DequantizeLinear", "", 13}, {stored, scale}, {3}, {3, 5, -128});
}

TEST(QuantDequantTest, NonFiniteValuesDifferByDomain) {
  const ir::Tensor x = floats({4}, {INFINITY, -INFINITY, NAN, 1e30f}), scale = floats({}, {1}),
                   zero = typed(ElementType::kUInt8, {}, {9});
  expect_op({"QuantizeLinear", "", 13}, {x, scale, zero}, {4}, {255, 0, 0, 255});
  expect_op({"ExtendedQuantizeLinear", kQuark, 1}, {x, scale, zero}, {4}, {0, 0, 0, 0});
}

TEST(QuantDequantTest, EveryIntegerTypePerAxis) {
  const ir::Tensor x = random_floats({2, 3, 4, 5}, -300, 300), scale = floats({3}, {0.1f, 1, 2});
  struct Row {
    ElementType type;
    int64_t low, high;
    float zero;
  };
  for (const Row& row :
       {Row{ElementType::kInt8, -128, 127, -5}, Row{ElementType::kUInt8, 0, 255, 100},
        Row{ElementType::kInt16, -32768, 32767, 7}, Row{ElementType::kUInt16, 0, 65535, 1000},
        Row{ElementType::kInt32, -2147483648LL, 2147483647LL, 0}, Row{ElementType::kUInt32, 0, 4294967295LL, 3}}) {
    const ir::Tensor zero = typed(row.type, {3}, {row.zero, row.zero, 0});
    std::vector<double> q, back;
    for_each_index(x.dims(), [&](const ir::Shape& i) {
      const auto zero_point = static_cast<int64_t>(at(zero, {i[1]}));
      const numeric::LinearParams params{
          static_cast<float>(at(scale, {i[1]})), zero_point, {row.low, row.high}, Overflow::kLowest};
      const int64_t stored = numeric::quantize(static_cast<float>(at(x, i)), params);
      q.push_back(static_cast<double>(stored));
      back.push_back(static_cast<double>(numeric::dequantize(stored, params)));
    });
    const std::vector axis = {attribute("axis", int64_t{1})};
    expect_op({"ExtendedQuantizeLinear", kQuark, 1, axis}, {x, scale, zero}, x.dims(), q, 0);
    const ir::Tensor stored = run_op({"ExtendedQuantizeLinear", kQuark, 1, axis}, {x, scale, zero}).value()[0];
    EXPECT_EQ(stored.type(), row.type);
    expect_op({"ExtendedDequantizeLinear", kQuark, 1, axis}, {stored, scale, zero}, x.dims(), back, 0);
    expect_op({"DequantizeLinear", "", 21}, {stored, scale, zero}, x.dims(), back, 0);
  }
}

TEST(QuantDequantTest, ExtendedFormsOf16BitFloats) {
  const auto quantize = [](ElementType type, float scale, std::vector<float> x) {
    const auto n = static_cast<int64_t>(x.size());
    return run_op({"ExtendedQuantizeLinear", kQuark, 1}, {floats({n}, x), floats({}, {scale}), typed(type, {}, {0})})
        .value()[0];
  };
  const ir::Tensor b =
      quantize(ElementType::kBFloat16, 1, {1.00390625f, 1.01171875f, 65504, 0.1f, 1e-40f, 3.4e38f, 3.39e38f});
  EXPECT_EQ(b.type(), ElementType::kBFloat16);
  expect_near(b, {1.0, 1.015625, 65536, 0.10009765625, 9.1835e-41, INFINITY, 3.3895313892515355e38}, 1e-12);
  const ir::Tensor h = quantize(ElementType::kFloat16, 0.1f, {70000, -70000, 1.0f, NAN});
  expect_near(h, {65504, -65504, 1, NAN}, 0);
  expect_op({"ExtendedDequantizeLinear", kQuark, 1}, {h, floats({}, {0.1f}), typed(ElementType::kFloat16, {}, {0})},
            {4}, {65504, -65504, 1, NAN});
  const ir::Tensor scaled = quantize(ElementType::kBFloat16, 0.1f, {1.00390625f});
  expect_op({"ExtendedDequantizeLinear", kQuark, 1},
            {scaled, floats({}, {0.1f}), typed(ElementType::kBFloat16, {}, {0})}, {1}, {1.00625002}, 1e-7);
}

TEST(QuantDequantTest, Float16Parameters) {
  const ir::Tensor x = typed(ElementType::kFloat16, {3}, {1, 2, 3}), scale = typed(ElementType::kFloat16, {}, {0.5f});
  expect_op({"QuantizeLinear", "", 19}, {x, scale, typed(ElementType::kUInt8, {}, {1})}, {3}, {3, 5, 7});
  const auto result = run_op({"DequantizeLinear", "", 19}, {typed(ElementType::kInt8, {2}, {2, -3}), scale});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result.value()[0].type(), ElementType::kFloat16);
  expect_near(result.value()[0], {1, -1.5}, 0);
}

TEST(QuantDequantTest, DynamicQuantizeLinear) {
  OpCall call{"DynamicQuantizeLinear", "", 11, {}, 3};
  const auto result = run_op(call, {floats({6}, {0, 2, -3, -2.5f, 1.34f, 0.5f})});
  ASSERT_TRUE(result.ok()) << result.status().message();
  expect_near(result.value()[0], {153, 255, 0, 26, 221, 179}, 0);
  expect_near(result.value()[1], {0.0196078438}, 1e-7);
  expect_near(result.value()[2], {153}, 0);
}

TEST(QuantDequantTest, RejectsWhatDoesNotFit) {
  const ir::Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6}), scale = floats({}, {1}),
                   zero = typed(ElementType::kInt8, {}, {0});
  expect_error({"QuantizeLinear"}, {x}, "missing");
  expect_error({"QuantizeLinear"}, {x, floats({2}, {1, 1})}, "2 scales for an axis of length 3");
  expect_error({"QuantizeLinear"}, {x, floats({3}, {1, 1, 1}), zero}, "zero point");
  expect_error({"QuantizeLinear", "", 21, {attribute("axis", int64_t{2})}}, {x, floats({3}, {1, 1, 1})}, "outside");
  expect_error({"QuantizeLinear", "", 21, {attribute("block_size", int64_t{2})}},
               {x, floats({2, 3}, {1, 1, 1, 1, 1, 1})}, "is needed for blocks of 2");
  expect_error({"QuantizeLinear"}, {x, ints({1}), zero}, "allowed");
  expect_error({"QuantizeLinear"}, {x, scale, ints({}, {0})}, "quantizes to INT64");
  expect_error({"QuantizeLinear", "", 21, {attribute("output_dtype", int64_t{2})}}, {x, scale, zero}, "output_dtype");
  expect_error({"ExtendedQuantizeLinear", kQuark, 1}, {x, scale}, "input 2 is missing");
  expect_error({"DequantizeLinear"}, {x, scale}, "dequantizes FLOAT");
  expect_error({"DequantizeLinear"}, {typed(ElementType::kUInt8, {1}, {1}), scale, zero}, "zero point is INT8");
}

}  // namespace
}  // namespace quarkq::test
