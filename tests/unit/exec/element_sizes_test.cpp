// SPDX-License-Identifier: MIT
// Operators that move elements do so for every width from 1 to 16 bytes, and those that compute with integers wrap.
#include <cstring>
#include <limits>

#include "support/op_checks.h"
#include "support/random_draws.h"

namespace quarkq::test {
namespace {

using ir::Shape;
using ir::Tensor;

constexpr ElementType kWidths[] = {ElementType::kUInt8, ElementType::kInt16, ElementType::kFloat, ElementType::kInt64,
                                   ElementType::kComplex128};

/// A tensor of different elements: byte i of element e is e * 16 + i.
Tensor labelled(ElementType type, const Shape& dims) {
  Tensor tensor = Tensor::allocate(type, dims);
  const int64_t width = bits(type) / 8;
  for (int64_t i = 0; i < tensor.bytes(); ++i)
    tensor.mutable_raw()[i] = static_cast<std::byte>(i / width * 16 + i % width);
  return tensor;
}

/// `x` with the elements at these places, one after the other; -1 is taken from `fill`.
Tensor picked(const Tensor& x, const Shape& dims, const std::vector<int64_t>& places, const Tensor& fill = {}) {
  Tensor out = Tensor::allocate(x.type(), dims);
  const auto width = static_cast<size_t>(bits(x.type()) / 8);
  for (size_t i = 0; i < places.size(); ++i) {
    const std::byte* from = places[i] < 0 ? fill.raw() : x.raw() + static_cast<size_t>(places[i]) * width;
    std::memcpy(out.mutable_raw() + i * width, from, width);
  }
  return out;
}

void expect_moved(const OpCall& call, const std::vector<Tensor>& inputs, const Tensor& expected) {
  const auto result = run_op(call, inputs);
  ASSERT_TRUE(result.ok()) << call.op << " of " << name(inputs[0].type()) << ": " << result.status().message();
  EXPECT_TRUE(result.value()[0].same_as(expected)) << call.op << " of " << name(inputs[0].type());
}

TEST(ElementSizesTest, ElementsAreMovedWhole) {
  for (const ElementType type : kWidths) {
    const Tensor x = labelled(type, {2, 4}), fill = labelled(type, {2, 4}).reshaped({8});
    const Tensor last = picked(fill, {}, {7});
    expect_moved({"Pad", "", 13}, {x, ints({0, 1, 0, 2}), last},
                 picked(x, {2, 7}, {-1, 0, 1, 2, 3, -1, -1, -1, 4, 5, 6, 7, -1, -1}, last));
    expect_moved({"Pad", "", 13}, {x, ints({1, -1, 0, 0}), last},
                 picked(x, {3, 3}, {-1, -1, -1, 1, 2, 3, 5, 6, 7}, last));
    OpCall reflect{"Pad", "", 13, {attribute("mode", std::string("reflect"))}};
    expect_moved(reflect, {x, ints({0, 2, 0, 1})}, picked(x, {2, 7}, {2, 1, 0, 1, 2, 3, 2, 6, 5, 4, 5, 6, 7, 6}));
    expect_moved({"Gather", "", 13, {number("axis", 1)}}, {x, ints({3, -4, 1})}, picked(x, {2, 3}, {3, 0, 1, 7, 4, 5}));
    expect_moved({"GatherElements", "", 13, {number("axis", 0)}}, {x, ints({1, 4}, {1, 0, -1, -2})},
                 picked(x, {1, 4}, {4, 1, 6, 3}));
    expect_moved({"GatherElements", "", 13, {number("axis", 1)}}, {x, ints({2, 2}, {3, 0, -1, 2})},
                 picked(x, {2, 2}, {3, 0, 7, 6}));
    expect_moved({"GatherND", "", 13}, {x, ints({2, 2}, {1, 3, 0, -1})}, picked(x, {2}, {7, 3}));
    expect_moved({"Transpose", "", 13}, {x}, picked(x, {4, 2}, {0, 4, 1, 5, 2, 6, 3, 7}));
    expect_moved({"Tile", "", 13}, {x, ints({1, 2})},
                 picked(x, {2, 8}, {0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7}));
    expect_moved({"Expand", "", 13}, {picked(x, {2, 1}, {3, 5}), ints({2, 3})}, picked(x, {2, 3}, {3, 3, 3, 5, 5, 5}));
    expect_moved({"Slice", "", 13}, {x, ints({3}), ints({-9}), ints({1}), ints({-2})}, picked(x, {2, 2}, {3, 1, 7, 5}));
    expect_moved({"Concat", "", 13, {number("axis", 1)}}, {x, picked(x, {2, 1}, {6, 2})},
                 picked(x, {2, 5}, {0, 1, 2, 3, 6, 4, 5, 6, 7, 2}));
    expect_moved({"Compress", "", 11, {number("axis", 1)}}, {x, bools({3}, {1, 0, 1})},
                 picked(x, {2, 2}, {0, 2, 4, 6}));
    expect_moved({"Trilu", "", 14}, {x}, picked(x, {2, 4}, {0, 1, 2, 3, -1, 5, 6, 7}, Tensor::zeros(type, {})));
    expect_moved({"ReverseSequence", "", 10, {number("batch_axis", 0), number("time_axis", 1)}}, {x, ints({3, 1})},
                 picked(x, {2, 4}, {2, 1, 0, 3, 4, 5, 6, 7}));
    if (type == ElementType::kComplex128) continue;  // which is moved, but not scattered
    expect_moved({"ScatterElements", "", 13, {number("axis", 1)}},
                 {x, ints({2, 1}, {2, -4}), picked(x, {2, 1}, {5, 0})}, picked(x, {2, 4}, {0, 1, 5, 3, 0, 5, 6, 7}));
  }
}

template <typename T>
void expect_wrapping_scatter() {
  constexpr T kHigh = std::numeric_limits<T>::max();
  const Tensor x = Tensor::from<T>({3}, std::vector<T>{kHigh, 2, 3});
  const Tensor indices = ints({4}, {0, 0, -1, 1}), updates = Tensor::from<T>({4}, std::vector<T>{1, 1, 7, 5});
  struct Row {
    const char* reduction;
    std::vector<T> expected;
  };
  const T wrapped = static_cast<T>(static_cast<uint64_t>(kHigh) + 2);
  const Row rows[] = {{"add", {wrapped, 7, 10}}, {"mul", {kHigh, 10, 21}}, {"min", {1, 2, 3}}, {"max", {kHigh, 5, 7}}};
  for (const Row& row : rows) {
    const OpCall call{"ScatterElements", "", 18, {attribute("reduction", std::string(row.reduction))}};
    expect_moved(call, {x, indices, updates}, Tensor::from<T>({3}, row.expected));
  }
}

TEST(ElementSizesTest, IntegersThatAreScatteredWrap) {
  expect_wrapping_scatter<int8_t>();
  expect_wrapping_scatter<uint8_t>();
  expect_wrapping_scatter<int16_t>();
  expect_wrapping_scatter<uint16_t>();
  expect_wrapping_scatter<int32_t>();
  expect_wrapping_scatter<uint32_t>();
  expect_wrapping_scatter<int64_t>();
  expect_wrapping_scatter<uint64_t>();
}

template <typename T>
void expect_range(T start, T limit, T delta, const std::vector<double>& expected) {
  const std::vector<Tensor> inputs = {Tensor::scalar(start), Tensor::scalar(limit), Tensor::scalar(delta)};
  const Shape dims = {static_cast<int64_t>(expected.size())};
  expect_op({"Range", "", 11}, inputs, dims, expected, 0);
}

TEST(ElementSizesTest, RangesOfEveryType) {
  expect_range<int16_t>(-2, 5, 3, {-2, 1, 4});
  expect_range<int16_t>(32767, -32768, -32768, {32767, -1});
  expect_range<int32_t>(5, 5, 1, {});
  expect_range<int32_t>(0, 5, -1, {});
  expect_range<int64_t>(10, 0, -4, {10, 6, 2});
  constexpr int64_t kOdd = (int64_t(1) << 53) + 1, kHalf = int64_t(1) << 62;
  expect_range<int64_t>(kOdd, kOdd + 2, 1, {static_cast<double>(kOdd), static_cast<double>(kOdd + 1)});
  expect_range<int64_t>(kHalf, -kHalf, -kHalf, {static_cast<double>(kHalf), 0});
  expect_range<double>(0, 1, 0.25, {0, 0.25, 0.5, 0.75});
  expect_range<float>(1, -0.5f, -0.5f, {1, 0.5, 0});
  expect_error({"Range", "", 11}, {Tensor::scalar(0.0f), Tensor::scalar(1.0f), Tensor::scalar(NAN)}, "delta is nan");
  expect_error({"Range", "", 11}, {ints({}, {0}), ints({}, {1}), ints({}, {0})}, "delta is 0, allowed: other numbers");
  expect_error({"Range", "", 11}, {Tensor::scalar(0.0f), Tensor::scalar(INFINITY), Tensor::scalar(1.0f)}, "2^48");
}

/// Best first, of equal values the first; NaN above everything. For types whose keys do not fit 32 bits, too.
TEST(ElementSizesTest, TopKOrdersEveryType) {
  const auto check = [](const Tensor& x, bool largest, const std::vector<double>& order) {
    OpCall call{"TopK", "", 11, {number("largest", largest)}, 2};
    const auto result = run_op(call, {x, ints({3})});
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(values(result.value()[1]), order) << name(x.type());
  };
  check(Tensor::from<int64_t>({5}, std::vector<int64_t>{INT64_MIN, 3, INT64_MAX, 3, -1}), true, {2, 1, 3});
  check(Tensor::from<int64_t>({5}, std::vector<int64_t>{INT64_MIN, 3, INT64_MAX, 3, -1}), false, {0, 4, 1});
  check(Tensor::from<uint64_t>({4}, std::vector<uint64_t>{1, UINT64_MAX, 0, 1}), true, {1, 0, 3});
  check(Tensor::from<uint32_t>({4}, std::vector<uint32_t>{1, UINT32_MAX, 0, 1u << 31}), true, {1, 3, 0});
  check(Tensor::from<int32_t>({4}, std::vector<int32_t>{-1, INT32_MAX, INT32_MIN, 0}), false, {2, 0, 3});
  check(Tensor::from<int8_t>({4}, std::vector<int8_t>{-1, 127, -128, 0}), true, {1, 3, 0});
  for (const ElementType type : {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16}) {
    const Tensor x = as_type(floats({6}, {-0.0f, 0.0f, NAN, -INFINITY, INFINITY, NAN}), type);
    check(x, true, {2, 5, 4});
    check(x, false, {3, 0, 1});
  }
}

}  // namespace
}  // namespace quarkq::test
