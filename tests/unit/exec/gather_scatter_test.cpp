// SPDX-License-Identifier: MIT
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

ir::Attribute gather_axis(int64_t value) { return attribute("axis", value); }

TEST(GatherScatterTest, GatherAlongAnyAxis) {
  const ir::Tensor x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  expect_op({"Gather"}, {x, ints({}, {-1})}, {3}, {3, 4, 5});
  expect_op({"Gather", "", 13, {gather_axis(1)}}, {x, ints({1, 2}, {2, 0})}, {2, 1, 2}, {2, 0, 5, 3});
  expect_op({"Gather", "", 13, {gather_axis(-1)}}, {x, as_type(floats({1}, {1}), ElementType::kInt32)}, {2, 1}, {1, 4});
  expect_op({"Gather"}, {ints({1, 3, 224, 224}), ints({2, 3})}, {2}, {224, 224});
  expect_op({"Gather", "", 13, {gather_axis(1)}}, {random_floats({2, 0, 3}), ints({0}, {})}, {2, 0, 3}, {});
}

ir::Tensor codes_of(ir::Shape dims, const std::vector<uint8_t>& values) {
  return ir::Tensor::from<uint8_t>(std::move(dims), values);
}

std::vector<ir::Attribute> blocks_of(int64_t bits, int64_t size) {
  return {attribute("bits", bits), attribute("block_size", size)};
}

TEST(GatherScatterTest, GatherRowsOfBlocks) {
  constexpr int64_t kWidth = 20;
  std::vector<uint8_t> codes;
  codes.reserve(3 * kWidth);
  for (int i = 0; i < 3 * kWidth; ++i) codes.push_back(static_cast<uint8_t>(100 + i));
  const ir::Tensor table = codes_of({3, kWidth}, codes), scales = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  std::vector<double> middle, shifted;
  for (const int row : {2, 0}) {
    for (int i = 0; i < kWidth; ++i) {
      const int code = 100 + row * static_cast<int>(kWidth) + i, block = i / 16, number = row * 2 + block;
      middle.push_back((code - 128) * (number + 1));
      shifted.push_back((code - number) * (number + 1));
    }
  }
  const OpCall call{"GatherBlockQuantized", "com.microsoft", 1, blocks_of(8, 16)};
  expect_op(call, {table, ints({2}, {-1, 0}), scales}, {2, kWidth}, middle);
  expect_op(call, {table, ints({2, 1}, {2, -3}), scales, codes_of({3, 2}, {0, 1, 2, 3, 4, 5})}, {2, 1, kWidth},
            shifted);
  const ir::Tensor nibbles = codes_of({1, 8}, {0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe});
  std::vector<double> rising;
  rising.reserve(16);
  for (int i = 0; i < 16; ++i) rising.push_back(0.5 * (i - 8));
  expect_op({"GatherBlockQuantized", "com.microsoft", 1, blocks_of(4, 16)},
            {nibbles, ints({}, {0}), floats({1, 1}, {0.5f})}, {16}, rising);
}

TEST(GatherScatterTest, RejectsBadTablesOfBlocks) {
  const ir::Tensor table = codes_of({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), rows = ints({1}, {0}),
                   scales = floats({2, 1}, {1, 2});
  const auto call = [](int64_t bits, int64_t block) {
    return OpCall{"GatherBlockQuantized", "com.microsoft", 1, blocks_of(bits, block)};
  };
  expect_error(call(5, 16), {table, rows, scales}, "bits is 5, allowed: 2, 4, 8");
  expect_error(call(8, 24), {table, rows, scales}, "block_size is 24");
  expect_error(call(8, 16), {table, rows, floats({2}, {1, 2})}, "scales (input 2) are [2]");
  expect_error(call(8, 16), {table, rows, scales, table}, "zero points (input 3)");
  expect_error(call(8, 16), {codes_of({8}, {1, 2, 3, 4, 5, 6, 7, 8}), rows, scales}, "two dimensions");
  expect_error(call(8, 16), {table, ints({1}, {2}), scales}, "index 2 is outside");
  expect_error(call(8, 16), {table, floats({1}, {0}), scales}, "allowed: INT64, INT32");
}

TEST(GatherScatterTest, GatherElementsAndNd) {
  const ir::Tensor x = floats({2, 2}, {1, 2, 3, 4});
  expect_op({"GatherElements", "", 13, {gather_axis(1)}}, {x, ints({2, 2}, {0, 0, -1, 0})}, {2, 2}, {1, 1, 4, 3});
  expect_op({"GatherElements", "", 13, {gather_axis(0)}}, {x, ints({1, 2}, {1, 0})}, {1, 2}, {3, 2});
  expect_op({"GatherND"}, {x, ints({2, 2}, {0, 0, 1, -1})}, {2}, {1, 4});
  expect_op({"GatherND"}, {x, ints({2, 1}, {1, 0})}, {2, 2}, {3, 4, 1, 2});
  expect_op({"GatherND", "", 13, {attribute("batch_dims", int64_t{1})}}, {x, ints({2, 1}, {1, 0})}, {2}, {2, 3});
}

TEST(GatherScatterTest, ScatterWithReductions) {
  const ir::Tensor x = floats({3}, {1, 2, 3}), i = ints({1, -1, 1}), u = floats({3}, {10, 20, 30});
  const auto with = [](const char* how) { return std::vector{attribute("reduction", std::string(how))}; };
  expect_op({"ScatterElements", "", 18}, {x, ints({0, 2}), floats({2}, {7, 8})}, {3}, {7, 2, 8});
  expect_op({"ScatterElements", "", 18, with("add")}, {x, i, u}, {3}, {1, 42, 23});
  expect_op({"ScatterElements", "", 18, with("mul")}, {x, i, u}, {3}, {1, 600, 60});
  expect_op({"ScatterElements", "", 18, with("max")}, {x, i, u}, {3}, {1, 30, 20});
  expect_op({"ScatterElements", "", 18, with("min")}, {x, i, u}, {3}, {1, 2, 3});
  const ir::Tensor y = floats({2, 2}, {1, 2, 3, 4});
  expect_op({"ScatterElements", "", 18, {gather_axis(1)}}, {y, ints({1, 1}, {1}), floats({1, 1}, {9})}, {2, 2},
            {1, 9, 3, 4});
  expect_op({"ScatterND", "", 18}, {y, ints({1, 1}, {1}), floats({1, 2}, {8, 9})}, {2, 2}, {1, 2, 8, 9});
  expect_op({"ScatterND", "", 18, with("add")}, {y, ints({2, 2}, {0, 0, 0, 0}), floats({2}, {8, 9})}, {2, 2},
            {18, 2, 3, 4});
  expect_op({"ScatterND", "", 18}, {bools({2}, {0, 0}), ints({1, 1}, {1}), bools({1}, {1})}, {2}, {0, 1});
}

TEST(GatherScatterTest, SelectsByValue) {
  expect_op({"OneHot"}, {ints({0, -1, 5}), ints({}, {3}), floats({2}, {0, 2})}, {3, 3}, {2, 0, 0, 0, 0, 2, 0, 0, 0});
  expect_op({"OneHot", "", 11, {gather_axis(0)}}, {ints({1, 0}), ints({2}), ints({5, 6})}, {2, 2}, {5, 6, 6, 5});
  expect_op({"NonZero"}, {floats({2, 2}, {1, 0, 0, 3})}, {2, 2}, {0, 1, 0, 1});
  expect_op({"NonZero"}, {bools({}, {1})}, {1, 1}, {0});
  expect_op({"CumSum"}, {floats({2, 2}, {1, 2, 3, 4}), ints({}, {1})}, {2, 2}, {1, 3, 3, 7});
  expect_op({"CumProd", "", 26}, {floats({2, 2}, {1, 2, 3, 4}), ints({}, {0})}, {2, 2}, {1, 2, 3, 8});
  expect_op({"CumProd", "", 26, {attribute("exclusive", int64_t{1}), attribute("reverse", int64_t{1})}},
            {ints({3}, {1, 2, 3}), ints({}, {-1})}, {3}, {6, 3, 1});
  expect_op({"CumSum", "", 14, {attribute("exclusive", int64_t{1}), attribute("reverse", int64_t{1})}},
            {ints({1, 2, 3}), ints({}, {0})}, {3}, {5, 3, 0});
  const ir::Tensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  expect_op({"Compress", "", 11, {gather_axis(0)}}, {x, bools({3}, {0, 1, 1})}, {2, 2}, {3, 4, 5, 6});
  expect_op({"Compress"}, {x, bools({4}, {0, 1, 0, 1})}, {2}, {2, 4});
}

TEST(GatherScatterTest, TopKOrdersTiesByIndex) {
  const ir::Tensor x = floats({2, 4}, {1, 3, 3, 2, -1, 5, 0, 5});
  OpCall call{"TopK", "", 11, {}, 2};
  const auto best = run_op(call, {x, ints({2})});
  ASSERT_TRUE(best.ok()) << best.status().message();
  expect_near(best.value()[0], {3, 3, 5, 5}, 0);
  expect_near(best.value()[1], {1, 2, 1, 3}, 0);
  call.attributes = {attribute("largest", int64_t{0}), gather_axis(0)};
  expect_near(run_op(call, {x, ints({1})}).value()[0], {-1, 3, 0, 2}, 0);
  expect_op({"TopK", "", 9, {attribute("k", int64_t{1})}, 2}, {x}, {2, 1}, {3, 5});
}

TEST(GatherScatterTest, RejectsWhatDoesNotFit) {
  const ir::Tensor x = floats({2, 2}, {1, 2, 3, 4});
  expect_error({"Gather"}, {x, ints({2})}, "index 2 is outside of [-2,1]");
  expect_error({"Gather"}, {x, ints({-3})}, "outside");
  expect_error({"Gather"}, {x, floats({1}, {0})}, "allowed: INT64, INT32");
  expect_error({"Gather", "", 13, {gather_axis(2)}}, {x, ints({0})}, "axis 2");
  expect_error({"Gather"}, {floats({}, {1}), ints({0})}, "axis 0");
  expect_error({"GatherElements"}, {x, ints({1, 3}, {0, 0, 0})}, "do not fit inside");
  expect_error({"GatherElements"}, {x, ints({1, 1}, {7})}, "index 7");
  expect_error({"GatherND"}, {x, ints({1, 3}, {0, 0, 0})}, "do not index");
  expect_error({"GatherND"}, {x, ints({1, 2}, {0, 9})}, "index 9");
  expect_error({"GatherND", "", 13, {attribute("batch_dims", int64_t{5})}}, {x, ints({1, 1}, {0})}, "batch_dims");
  expect_error({"ScatterND"}, {x, ints({1, 1}, {5}), floats({1, 2}, {1, 1})}, "index 5");
  expect_error({"ScatterND"}, {x, ints({1, 1}, {0}), floats({1, 3}, {1, 1, 1})}, "must be [1,2]");
  expect_error({"ScatterElements"}, {x, ints({1, 1}, {0}), floats({1, 2}, {1, 1})}, "updates");
  expect_error({"ScatterElements", "", 18, {attribute("reduction", std::string("x"))}},
               {x, ints({1, 1}, {0}), floats({1, 1}, {1})}, "reduction");
  expect_error({"OneHot"}, {ints({0}), ints({}, {0}), floats({2}, {0, 1})}, "depth is 0");
  expect_error({"OneHot"}, {ints({0}), ints({}, {3}), floats({3}, {0, 1, 2})}, "values");
  expect_error({"TopK", "", 11, {}, 2}, {x, ints({3})}, "k is 3");
  expect_error({"TopK", "", 11, {}, 2}, {x, ints({1, 1})}, "one element");
  expect_error({"CumSum"}, {x, ints({}, {2})}, "axis 2");
  expect_error({"Compress", "", 11, {gather_axis(0)}}, {x, bools({3}, {0, 0, 1})}, "element 2 of 2");
}

TEST(GatherScatterTest, CumSumOfLongRows) {
  const ir::Tensor x = random_floats({2, 3, 9});
  const std::vector<double> in = values(x);
  for (const int64_t exclusive : {0, 1}) {
    for (const int64_t reverse : {0, 1}) {
      std::vector<double> expected(in.size());
      for (size_t i = 0; i < in.size(); ++i) {
        const size_t place = i / 9 % 3;
        for (size_t k = 0; k < 3; ++k) {
          const bool before = reverse != 0 ? k > place : k < place;
          if (before || (exclusive == 0 && k == place)) expected[i] += in[i - place * 9 + k * 9];
        }
      }
      expect_op({"CumSum", "", 14, {attribute("exclusive", exclusive), attribute("reverse", reverse)}},
                {x, ints({}, {1})}, x.dims(), expected, 1e-6);
    }
  }
  const ir::Tensor bytes = as_type(floats({2, 8}, std::vector<float>(16, 100)), ElementType::kInt32);
  expect_op({"CumSum", "", 14}, {bytes, ints({}, {0})}, {2, 8},
            {100, 100, 100, 100, 100, 100, 100, 100, 200, 200, 200, 200, 200, 200, 200, 200});
}

TEST(GatherScatterTest, TopKOrdersEqualValuesZerosAndNan) {
  const ir::Tensor x = floats({8}, {0.0f, -0.0f, 3, NAN, 3, -INFINITY, NAN, -2});
  OpCall call{"TopK", "", 11};
  call.outputs = 2;
  const auto indices = [&](int64_t k, int64_t largest) {
    call.attributes = {attribute("largest", largest)};
    return values(run_op(call, {x, ints({k})}).value()[1]);
  };
  EXPECT_EQ(indices(8, 1), (std::vector<double>{3, 6, 2, 4, 0, 1, 7, 5}));
  EXPECT_EQ(indices(8, 0), (std::vector<double>{5, 7, 0, 1, 2, 4, 3, 6}));
  EXPECT_EQ(indices(3, 1), (std::vector<double>{3, 6, 2}));
  EXPECT_TRUE(indices(0, 1).empty());
}

TEST(GatherScatterTest, GatherElementsOfNarrowIndicesAlongAnyAxis) {
  const ir::Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const ir::Tensor narrow = ir::Tensor::from<int32_t>({2, 3}, std::vector<int32_t>{1, 0, -1, 0, -2, 1});
  expect_op({"GatherElements", "", 13, {attribute("axis", int64_t{0})}}, {x, narrow}, {2, 3}, {4, 2, 6, 1, 2, 6});
  expect_op({"GatherElements", "", 13, {attribute("axis", int64_t{1})}}, {x, narrow}, {2, 3}, {2, 1, 3, 4, 5, 5});
}

}  // namespace
}  // namespace quarkq::test
