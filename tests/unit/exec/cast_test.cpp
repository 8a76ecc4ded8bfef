// SPDX-License-Identifier: MIT
// Cast between small types and all others; what wraps, saturates and rounds. Pairs of wide types: elementwise_test.cpp.
#include "support/small_types.h"

namespace quarkq::test {
namespace {

std::vector<ir::Attribute> to(ElementType type) { return {attribute("to", static_cast<int64_t>(type))}; }

constexpr ElementType kSmall[] = {ElementType::kFloat8E4M3Fn,   ElementType::kFloat8E4M3FnUz, ElementType::kFloat8E5M2,
                                  ElementType::kFloat8E5M2FnUz, ElementType::kFloat4E2M1,     ElementType::kUInt4,
                                  ElementType::kInt4,           ElementType::kFloat6E2M3,     ElementType::kFloat6E3M2};
constexpr ElementType kWide[] = {ElementType::kFloat,    ElementType::kDouble, ElementType::kFloat16,
                                 ElementType::kBFloat16, ElementType::kInt8,   ElementType::kUInt8,
                                 ElementType::kInt16,    ElementType::kUInt16, ElementType::kInt32,
                                 ElementType::kUInt32,   ElementType::kInt64,  ElementType::kUInt64};

TEST(CastTest, SmallTypesToAndFromEveryOther) {
  const std::vector<float> numbers = {0, 1, 2, 3, 4, 6, 1};
  const std::vector<double> expected(numbers.begin(), numbers.end());
  for (const ElementType small : kSmall) {
    const ir::Tensor x = encoded(small, {7}, numbers);
    for (const ElementType wide : kWide) {
      SCOPED_TRACE(cat(name(small), " and ", name(wide)));
      const ir::Tensor plain = as_type(floats({7}, numbers), wide);
      expect_op({"Cast", "", 24, to(wide)}, {x}, {7}, expected, 0);
      expect_small({"Cast", "", 24, to(small)}, {plain}, small, expected);
      expect_small({"CastLike", "", 24}, {plain, x}, small, expected);
    }
    for (const ElementType other : kSmall) expect_small({"Cast", "", 24, to(other)}, {x}, other, expected);
    expect_op({"Cast", "", 24, to(ElementType::kBool)}, {x}, {7}, {0, 1, 1, 1, 1, 1, 1}, 0);
    expect_small({"Cast", "", 24, to(small)}, {bools({3}, {1, 0, 1})}, small, {1, 0, 1});
  }
}

TEST(CastTest, NegativeAndWrappingIntegers) {
  const ir::Tensor x = floats({6}, {-9, -8, 7.9f, 8, 100, NAN});
  expect_small({"Cast", "", 24, to(ElementType::kInt4)}, {x}, ElementType::kInt4, {7, -8, 7, -8, 4, 0});
  expect_small({"Cast", "", 24, to(ElementType::kUInt4)}, {x}, ElementType::kUInt4, {7, 8, 7, 8, 4, 0});
  expect_small({"Cast", "", 24, to(ElementType::kInt4)}, {ints({200, -1})}, ElementType::kInt4, {-8, -1});
  expect_op({"Cast", "", 24, to(ElementType::kInt16)}, {encoded(ElementType::kInt4, {3}, {-8, -1, 7})}, {3},
            {-8, -1, 7});
}

TEST(CastTest, IntegersOfTwoBits) {
  const ir::Tensor x = floats({5}, {-2, -1, 0, 1, 3});
  expect_small({"Cast", "", 25, to(ElementType::kInt2)}, {x}, ElementType::kInt2, {-2, -1, 0, 1, -1});
  expect_small({"Cast", "", 25, to(ElementType::kUInt2)}, {x}, ElementType::kUInt2, {2, 3, 0, 1, 3});
  const ir::Tensor stored = encoded(ElementType::kInt2, {5}, {-2, -1, 0, 1, 1});
  expect_op({"Cast", "", 25, to(ElementType::kInt8)}, {stored}, {5}, {-2, -1, 0, 1, 1});
  expect_op({"Cast", "", 25, to(ElementType::kFloat16)}, {encoded(ElementType::kUInt2, {3}, {3, 0, 2})}, {3},
            {3, 0, 2});
  expect_small({"Cast", "", 25, to(ElementType::kUInt4)}, {stored}, ElementType::kUInt4, {14, 15, 0, 1, 1});
}

TEST(CastTest, FloatsOfSixBitsSaturate) {
  const ir::Tensor x = floats({5}, {INFINITY, -1e9f, 0.0625f, 1.0625f, -0.0f});
  expect_small({"Cast", "", 28, to(ElementType::kFloat6E2M3)}, {x}, ElementType::kFloat6E2M3, {7.5, -7.5, 0, 1, 0});
  expect_small({"Cast", "", 28, to(ElementType::kFloat6E3M2)}, {x}, ElementType::kFloat6E3M2, {28, -28, 0.0625, 1, 0});
}

TEST(CastTest, BitsKeepTheirPattern) {
  const ir::Tensor x = floats({2, 1, 2}, {1, -2, 0, 0.5f});
  expect_op({"BitCast", "", 26, to(ElementType::kInt32)}, {x}, {2, 1, 2}, {0x3F800000, -0x40000000, 0, 0x3F000000});
  expect_small({"BitCast", "", 26, to(ElementType::kUInt2)}, {encoded(ElementType::kInt2, {3}, {-1, 1, -2})},
               ElementType::kUInt2, {3, 1, 2});
  expect_op({"BitCast", "", 26, to(ElementType::kUInt8)}, {bools({2}, {1, 0})}, {2}, {1, 0});
  expect_error({"BitCast", "", 26, to(ElementType::kInt64)}, {x},
               "casts the bits of FLOAT to INT64, allowed: types of the same width");
  expect_error({"BitCast", "", 26, {attribute("to", int64_t{99})}}, {x},
               "attribute to is 99, which is not an element type");
  expect_error({"BitCast", "", 26}, {x}, "attribute to is missing");
}

TEST(CastTest, SaturatesUnlessToldNotTo) {
  const ir::Tensor x = floats({4}, {INFINITY, -1e9f, NAN, 1});
  struct Row {
    ElementType type;
    double largest, overflow;
  };
  for (const Row& row :
       {Row{ElementType::kFloat8E4M3Fn, 448, NAN}, Row{ElementType::kFloat8E4M3FnUz, 240, NAN},
        Row{ElementType::kFloat8E5M2, 57344, INFINITY}, Row{ElementType::kFloat8E5M2FnUz, 57344, NAN}}) {
    std::vector<ir::Attribute> attributes = to(row.type);
    expect_small({"Cast", "", 24, attributes}, {x}, row.type, {row.largest, -row.largest, NAN, 1});
    attributes.push_back(attribute("saturate", int64_t{0}));
    expect_small({"Cast", "", 24, attributes}, {x}, row.type, {row.overflow, -row.overflow, NAN, 1});
  }
}

TEST(CastTest, PowersOfTwoRoundAsAsked) {
  const ir::Tensor x = floats({4}, {1.25f, 1.5f, 0, INFINITY});
  const auto with = [](const char* mode) {
    std::vector<ir::Attribute> attributes = to(ElementType::kFloat8E8M0);
    attributes.push_back(attribute("round_mode", std::string(mode)));
    return attributes;
  };
  constexpr ElementType kType = ElementType::kFloat8E8M0;
  expect_small({"Cast", "", 24, to(kType)}, {x}, kType, {2, 2, 0x1p-127, 0x1p127});
  expect_small({"Cast", "", 24, with("down")}, {x}, kType, {1, 1, 0x1p-127, 0x1p127});
  expect_small({"Cast", "", 24, with("nearest")}, {x}, kType, {1, 2, 0x1p-127, 0x1p127});
  expect_op({"Cast", "", 24, to(ElementType::kFloat)}, {encoded(kType, {2}, {2, 0.5f})}, {2}, {2, 0.5});
  expect_error({"Cast", "", 24, with("even")}, {x}, "round_mode is 'even', allowed: up, down, nearest");
}

TEST(CastTest, DoublesAreRoundedOnce) {
  ir::Tensor x = ir::Tensor::allocate(ElementType::kDouble, {1});
  x.mutable_data<double>()[0] = 1.0 + 0x1p-11 + 0x1p-40;  // just above a tie of float16, on it in float32
  expect_op({"Cast", "", 13, to(ElementType::kFloat16)}, {x}, {1}, {1.0 + 0x1p-10}, 0);
  x.mutable_data<double>()[0] = 1.0625 + 0x1p-40;
  expect_small({"Cast", "", 19, to(ElementType::kFloat8E4M3Fn)}, {x}, ElementType::kFloat8E4M3Fn, {1.125});
}

TEST(CastTest, PackedResultsAreInOnnxOrder) {
  for (const ElementType type : {ElementType::kUInt4, ElementType::kUInt2, ElementType::kFloat6E3M2}) {
    std::vector<float> numbers;
    numbers.reserve(30);
    for (int i = 0; i < 2 * 3 * 5; ++i) numbers.push_back(static_cast<float>(i % (1 << std::min(bits(type), 4))));
    if (type == ElementType::kFloat6E3M2)
      for (float& number : numbers) number = std::min(number, 8.0f);
    expect_small({"Cast", "", 28, to(type)}, {floats({2, 3, 5}, numbers)}, type, {numbers.begin(), numbers.end()});
  }
}

TEST(CastTest, LongArraysAndEmptyOnes) {
  const ir::Tensor x = random_floats({100003}, -8, 8);
  const auto packed = run_op({"Cast", "", 24, to(ElementType::kInt4)}, {x});
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  const auto back = run_op({"Cast", "", 24, to(ElementType::kFloat)}, {packed.value()[0]});
  ASSERT_TRUE(back.ok()) << back.status().message();
  for (size_t i = 0; i < 100003; ++i) {
    ASSERT_EQ(back.value()[0].data<float>()[i], std::trunc(x.data<float>()[i]) + 0.0f) << i;
  }
  expect_small({"Cast", "", 24, to(ElementType::kInt4)}, {floats({0, 3, 2}, {})}, ElementType::kInt4, {});
  expect_small({"Cast", "", 24, to(ElementType::kFloat4E2M1)}, {floats({}, {-3})}, ElementType::kFloat4E2M1, {-3});
}

}  // namespace
}  // namespace quarkq::test
