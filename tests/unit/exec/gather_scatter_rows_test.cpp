// SPDX-License-Identifier: MIT
// Unique, ReverseSequence, TensorScatter.
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

void expect_unique(OpCall call, const ir::Tensor& x, const ir::Shape& dims,
                   const std::vector<std::vector<double>>& expected) {
  call.op = "Unique";
  call.opset = 11;
  call.outputs = 4;
  for (const bool unknown : {false, true}) {
    call.unknown_inputs = unknown;
    const auto found = run_op(call, {x});
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found.value()[0].dims(), dims);
    for (size_t i = 0; i < 4; ++i) expect_near(found.value()[i], expected[i], 0);
  }
}

TEST(UniqueTest, SortedAndByOccurrence) {
  const ir::Tensor x = floats({2, 3}, {2, 1, 1, 3, 4, 3});
  expect_unique({}, x, {4}, {{1, 2, 3, 4}, {1, 0, 3, 4}, {1, 0, 0, 2, 3, 2}, {2, 1, 2, 1}});
  expect_unique({"", "", 11, {number("sorted", 0)}}, x, {4},
                {{2, 1, 3, 4}, {0, 1, 3, 4}, {0, 1, 1, 2, 3, 2}, {1, 2, 2, 1}});
}

TEST(UniqueTest, SlicesOfAnAxis) {
  const ir::Tensor x = ints({3, 2}, {1, 0, 1, 0, 2, 3});
  expect_unique({"", "", 11, {number("axis", 0)}}, x, {2, 2}, {{1, 0, 2, 3}, {0, 2}, {0, 0, 1}, {2, 1}});
  expect_unique({"", "", 11, {number("axis", -1)}}, x, {3, 2}, {{0, 1, 0, 1, 3, 2}, {1, 0}, {1, 0}, {1, 1}});
}

TEST(UniqueTest, NanScalarAndNothing) {
  expect_unique({}, floats({3}, {NAN, 1, NAN}), {2}, {{1, NAN}, {1, 0}, {1, 0, 1}, {1, 2}});
  expect_unique({}, floats({}, {5}), {1}, {{5}, {0}, {0}, {1}});
  expect_unique({}, ir::Tensor::zeros(ElementType::kInt8, {0}), {0}, {{}, {}, {}, {}});
  expect_error({"Unique", "", 11, {number("axis", 2)}}, {floats({1}, {1})}, "outside");
}

TEST(ReverseSequenceTest, ReversesTheFirstOfEachEntry) {
  const ir::Tensor x = floats({3, 2}, {0, 1, 2, 3, 4, 5});
  expect_op({"ReverseSequence", "", 10}, {x, ints({3, 2})}, {3, 2}, {4, 3, 2, 1, 0, 5});
  expect_op({"ReverseSequence", "", 10, {number("batch_axis", 0), number("time_axis", 1)}}, {x, ints({2, 1, 0})},
            {3, 2}, {1, 0, 2, 3, 4, 5});
  expect_error({"ReverseSequence", "", 10}, {x, ints({4, 0})}, "sequence length 4");
  expect_error({"ReverseSequence", "", 10}, {x, ints({-1, 0})}, "sequence length -1");
  expect_error({"ReverseSequence", "", 10}, {x, ints({1})}, "must be [2]");
  expect_error({"ReverseSequence", "", 10, {number("time_axis", 1)}}, {x, ints({1, 1})}, "allowed: 0 and 1");
  expect_error({"ReverseSequence", "", 10}, {floats({2}, {1, 2}), ints({1, 1})}, "rank 1");
}

TEST(TensorScatterTest, WritesRowsIntoTheCache) {
  const ir::Tensor cache = floats({2, 3, 1}, {1, 2, 3, 4, 5, 6}), update = floats({2, 2, 1}, {10, 20, 30, 40});
  expect_op({"TensorScatter", "", 24}, {cache, update, ints({1, 0})}, {2, 3, 1}, {1, 10, 20, 30, 40, 6});
  expect_op({"TensorScatter", "", 24}, {cache, update}, {2, 3, 1}, {10, 20, 3, 30, 40, 6});
  expect_op({"TensorScatter", "", 24, {attribute("mode", std::string("circular"))}}, {cache, update, ints({2, 1})},
            {2, 3, 1}, {20, 2, 10, 4, 30, 40});
  expect_error({"TensorScatter", "", 24}, {cache, update, ints({2, 0})}, "write index 2");
  expect_error({"TensorScatter", "", 24}, {cache, update, ints({-1, 0})}, "write index -1");
  expect_error({"TensorScatter", "", 24}, {cache, update, ints({0})}, "must be [2]");
  expect_error({"TensorScatter", "", 24, {number("axis", 0)}}, {cache, update}, "axis is 0");
  expect_error({"TensorScatter", "", 24}, {cache, random_floats({2, 4, 1})}, "does not fit inside");
  expect_error({"TensorScatter", "", 24, {attribute("mode", std::string("x"))}}, {cache, update}, "mode is 'x'");
}

}  // namespace
}  // namespace quarkq::test
