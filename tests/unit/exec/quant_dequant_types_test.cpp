// SPDX-License-Identifier: MIT
// QuantizeLinear and DequantizeLinear of small types, in blocks and with parameters of several types. Values from ONNX
// Runtime 1.31.
#include "numeric/linear_quant.h"
#include "support/small_types.h"

namespace quarkq::test {
namespace {

std::vector<ir::Attribute> blocks(int64_t axis, int64_t size, ElementType output = ElementType::kUndefined) {
  return {attribute("axis", axis), attribute("block_size", size),
          attribute("output_dtype", static_cast<int64_t>(output))};
}

const ir::Tensor& sample() {
  static const ir::Tensor x = floats({2, 6}, {0.5f, -1.2f, 3.3f, 7.9f, -8.8f, 2.5f, 1, 2, 3, 4, 5, 6});
  return x;
}

TEST(QuantDequantTypesTest, BlocksWithRemainder) {
  expect_small({"QuantizeLinear", "", 21, blocks(1, 4, ElementType::kInt4)},
               {sample(), floats({2, 2}, {.5f, 1, 2, .25f})}, ElementType::kInt4,
               {1, -2, 7, 7, -8, 2, 0, 1, 2, 2, 7, 7});
  expect_small({"QuantizeLinear", "com.microsoft", 1, blocks(0, 2, ElementType::kUInt4)},
               {sample(), floats({1, 6}, {.5f, 1, 2, .25f, 1, 3})}, ElementType::kUInt4,
               {1, 0, 2, 15, 0, 1, 2, 2, 2, 15, 5, 2});
  const ir::Tensor codes = encoded(ElementType::kInt4, {2, 3}, {1, -2, 7, -8, 0, 3});
  const ir::Tensor zero = encoded(ElementType::kInt4, {2, 2}, {1, 0, -1, 2});
  expect_op({"DequantizeLinear", "", 21, blocks(1, 2)}, {codes, floats({2, 2}, {.5f, 2, 1, .25f}), zero}, {2, 3},
            {0, -1.5, 14, -7, 1, .25});
}

TEST(QuantDequantTypesTest, TwoBits) {
  const ir::Tensor x = floats({2, 4}, {-3, -1, 0.6f, 9, 1, 2, 3, 4});
  const ir::Tensor scale = floats({2, 2}, {1, 2, 1, 1});
  expect_small({"QuantizeLinear", "", 25, blocks(1, 2, ElementType::kInt2)}, {x, scale}, ElementType::kInt2,
               {-2, -1, 0, 1, 1, 1, 1, 1});
  const ir::Tensor codes = encoded(ElementType::kUInt2, {2, 4}, {0, 1, 2, 3, 3, 2, 1, 0});
  const ir::Tensor zero = encoded(ElementType::kUInt2, {2, 2}, {1, 2, 0, 3});
  expect_op({"DequantizeLinear", "", 25, blocks(1, 2)}, {codes, scale, zero}, {2, 4}, {-1, 0, 0, 2, 3, 2, -2, -3});
}

/// A format of OCP MX in standard operators: elements of 6 bits with a power of two for each block.
TEST(QuantDequantTypesTest, SixBitsInBlocksOfPowersOfTwo) {
  const ir::Tensor x = floats({1, 6}, {0.5f, -1.2f, 30, 7.9f, -8.8f, 2.5f});
  const ir::Tensor scale = encoded(ElementType::kFloat8E8M0, {1, 2}, {0.25f, 2});
  expect_small({"QuantizeLinear", "", 28, blocks(1, 3, ElementType::kFloat6E2M3)}, {x, scale}, ElementType::kFloat6E2M3,
               {2, -5, 7.5, 4, -4.5, 1.25});
  expect_op({"DequantizeLinear", "", 28, blocks(1, 3)},
            {encoded(ElementType::kFloat6E3M2, {1, 6}, {2, -5, 28, 4, -0.25f, 0}), scale}, {1, 6},
            {0.5, -1.25, 7, 8, -0.5, 0});
}

/// Blocks on every axis of a rank-4 tensor, in both layouts, against the scalar definition.
TEST(QuantDequantTypesTest, BlocksOnEveryAxis) {
  const ir::Tensor x = random_floats({2, 5, 3, 4}, -300, 300);
  for (int64_t axis = 0; axis < 4; ++axis) {
    ir::Shape dims = x.dims();
    const auto a = static_cast<size_t>(axis);
    dims[a] = (dims[a] + 1) / 2;
    const ir::Tensor scale = random_floats(dims, 0.5f, 3.0f, 7),
                     zero = as_type(random_floats(dims, -9, 9), ElementType::kInt8);
    std::vector<double> q, back;
    for_each_index(x.dims(), [&](const ir::Shape& index) {
      ir::Shape at_block = index;
      at_block[a] /= 2;
      const numeric::LinearParams params{static_cast<float>(at(scale, at_block)),
                                         static_cast<int64_t>(at(zero, at_block)),
                                         {-128, 127},
                                         numeric::Overflow::kSaturate};
      q.push_back(static_cast<double>(numeric::quantize(static_cast<float>(at(x, index)), params)));
      back.push_back(static_cast<double>(numeric::dequantize(static_cast<int64_t>(q.back()), params)));
    });
    const OpCall quantize{"QuantizeLinear", "", 21, blocks(axis - 4, 2)};
    expect_op(quantize, {x, scale, zero}, x.dims(), q, 0);
    const ir::Tensor stored = run_op(quantize, {x, scale, zero}).value()[0];
    expect_op({"DequantizeLinear", "", 21, blocks(axis, 2)}, {stored, scale, zero}, x.dims(), back, 0);
  }
}

TEST(QuantDequantTypesTest, ManyChannelsInBothLayouts) {
  const ir::Tensor x = random_floats({2, 67, 5, 3}, -300, 300), scale = random_floats({67}, 0.5f, 3.0f, 3);
  for (const ElementType type : {ElementType::kInt8, ElementType::kUInt8, ElementType::kInt16, ElementType::kUInt16}) {
    const ir::Tensor zero = as_type(random_floats({67}, 0, 9), type);
    OpCall quantize{"QuantizeLinear", "", 21}, dequantize{"DequantizeLinear", "", 21};
    const ir::Tensor stored = run_op(quantize, {x, scale, zero}).value()[0];
    const ir::Tensor back = run_op(dequantize, {stored, scale, zero}).value()[0];
    quantize.layout = dequantize.layout = exec::Layout::kChannelsLast;
    EXPECT_TRUE(stored.same_as(run_op(quantize, {x, scale, zero}).value()[0])) << name(type);
    EXPECT_TRUE(back.same_as(run_op(dequantize, {stored, scale, zero}).value()[0])) << name(type);
  }
}

TEST(QuantDequantTypesTest, SmallFloats) {
  std::vector<float> numbers;
  for (const float value : sample().data<float>()) numbers.push_back(value * 100);
  const std::vector<ir::Attribute> attributes = {
      attribute("axis", int64_t{0}), attribute("output_dtype", static_cast<int64_t>(ElementType::kFloat8E4M3Fn))};
  expect_small({"QuantizeLinear", "", 21, attributes}, {floats({2, 6}, numbers), floats({2}, {.5f, .01f})},
               ElementType::kFloat8E4M3Fn, {96, -240, 448, 448, -448, 448, 448, 448, 448, 448, 448, 448});
  std::vector<ir::Attribute> open = attributes;
  open.push_back(attribute("saturate", int64_t{0}));
  expect_small({"QuantizeLinear", "", 21, open}, {floats({1, 3}, {1, 1e6f, -1e6f}), floats({1}, {1})},
               ElementType::kFloat8E4M3Fn, {1, NAN, NAN});
  for (const ElementType type : {ElementType::kFloat8E4M3Fn, ElementType::kFloat8E5M2, ElementType::kFloat4E2M1}) {
    expect_op({"DequantizeLinear", "", 23}, {encoded(type, {3}, {-0.0f, 1.5f, -6}), floats({}, {2})}, {3}, {0, 3, -12});
  }
  // A zero point keeps the sign of a FLOAT8 zero and takes the one of FLOAT4E2M1.
  const ir::Tensor x = floats({1}, {-0.0f}), scale = floats({}, {1});
  for (const auto& [type, negative] :
       {std::pair(ElementType::kFloat8E4M3Fn, true), {ElementType::kFloat4E2M1, false}}) {
    const auto y = run_op({"QuantizeLinear", "", 23}, {x, scale, encoded(type, {}, {0})});
    EXPECT_EQ(std::signbit(decoded(y.value()[0])[0]), negative) << name(type);
  }
}

TEST(QuantDequantTypesTest, ParametersOfOtherTypes) {
  const ir::Tensor power = encoded(ElementType::kFloat8E8M0, {}, {0.5f});
  expect_op({"QuantizeLinear", "", 24}, {floats({2}, {1, 2}), power}, {2}, {2, 4});
  expect_op({"DequantizeLinear", "", 24}, {as_type(floats({2}, {3, 4}), ElementType::kUInt8), power}, {2}, {1.5, 2});
  expect_op({"QuantizeLinear", "", 23}, {as_type(floats({2}, {3, 5}), ElementType::kInt32), floats({}, {2})}, {2},
            {2, 2});
  const std::vector<ir::Attribute> half = {attribute("output_dtype", static_cast<int64_t>(ElementType::kBFloat16))};
  const auto y =
      run_op({"DequantizeLinear", "", 23, half}, {as_type(floats({1}, {3}), ElementType::kInt16), floats({}, {.1f})});
  EXPECT_EQ(y.value()[0].type(), ElementType::kBFloat16);
}

/// 201.49 is 201.5 in float16, which rounds to 202.
TEST(QuantDequantTypesTest, DivisionInTheStatedPrecision) {
  const ir::Tensor x = floats({1}, {201.49f}), scale = floats({}, {1});
  expect_op({"QuantizeLinear", "", 23}, {x, scale}, {1}, {201});
  const auto precision = [](ElementType type) {
    return std::vector<ir::Attribute>{attribute("precision", static_cast<int64_t>(type))};
  };
  expect_op({"QuantizeLinear", "", 23, precision(ElementType::kFloat16)}, {x, scale}, {1}, {202});
  expect_op({"QuantizeLinear", "", 23, precision(ElementType::kBFloat16)}, {x, scale}, {1}, {201});
  expect_error({"QuantizeLinear", "", 23, precision(ElementType::kInt8)}, {x, scale}, "precision is INT8, allowed");
}

TEST(QuantDequantTypesTest, FormerNamesOfTheExtendedOperators) {
  const ir::Tensor x = floats({2}, {NAN, 3}), scale = floats({}, {1}),
                   zero = as_type(floats({}, {1}), ElementType::kInt8);
  expect_op({"VitisQuantizeLinear", "com.vai.quantize", 1}, {x, scale, zero}, {2}, {-128, 4});
  expect_op({"VitisDequantizeLinear", "com.vai.quantize", 1},
            {as_type(floats({1}, {5}), ElementType::kInt8), scale, zero}, {1}, {4});
}

TEST(QuantDequantTypesTest, EmptyTensors) {
  expect_small({"QuantizeLinear", "", 21, blocks(1, 4, ElementType::kInt4)}, {floats({2, 0}, {}), floats({2, 0}, {})},
               ElementType::kInt4, {});
  expect_op({"QuantizeLinear"}, {floats({0, 3}, {}), floats({3}, {1, 1, 1})}, {0, 3}, {});
}

TEST(QuantDequantTypesTest, RejectsWhatDoesNotFit) {
  const ir::Tensor scale = floats({2, 2}, {1, 1, 1, 1});
  expect_error({"QuantizeLinear", "", 21, blocks(1, 2)}, {sample(), scale},
               "scale is [2,2], [2,3] is needed for blocks of 2");
  expect_error({"QuantizeLinear", "", 21, blocks(1, -1)}, {sample(), scale}, "block_size is -1");
  expect_error({"QuantizeLinear", "", 21, blocks(7, 2)}, {sample(), scale}, "outside");
  expect_error({"QuantizeLinear", "", 21, blocks(1, 1, ElementType::kFloat8E8M0)}, {sample(), floats({}, {1})},
               "quantizes to FLOAT8E8M0");
  expect_error({"QuantizeLinear", "", 21}, {sample(), scale}, "scale is [2,2], allowed: one");
  expect_error({"ExtendedQuantizeLinear", "com.amd.quark", 1, blocks(1, 3)},
               {sample(), scale, as_type(scale, ElementType::kInt8)}, "block_size is 3, allowed: 0");
  expect_error({"DequantizeLinear"}, {ints({1}), floats({}, {1})}, "dequantizes INT64");
  expect_error({"QuantizeLinear"}, {ints({1}), floats({}, {1})}, "input 0 is INT64, allowed");
}

}  // namespace
}  // namespace quarkq::test
