// SPDX-License-Identifier: MIT
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

std::vector<double> count_to(int64_t n) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(static_cast<double>(i));
  return v;
}
ir::Tensor counting(ir::Shape dims) {
  std::vector<float> v;
  for (int64_t i = 0, n = ir::checked_count(dims); i < n; ++i) v.push_back(static_cast<float>(i));
  return floats(std::move(dims), v);
}
ir::Attribute axis(int64_t value) { return attribute("axis", value); }

TEST(ShapeTest, ShapeAndSizeSeeOnnxOrder) {
  const ir::Tensor x = counting({2, 3, 4, 5});
  expect_op({"Shape"}, {x}, {4}, {2, 3, 4, 5});
  expect_op({"Shape", "", 15, {attribute("start", int64_t{1}), attribute("end", int64_t{-1})}}, {x}, {2}, {3, 4});
  expect_op({"Size"}, {x}, {}, {120});
}

TEST(ShapeTest, ReshapeResolvesZeroAndMinusOne) {
  const ir::Tensor x = counting({2, 3, 4});
  expect_op({"Reshape"}, {x, ints({0, -1})}, {2, 12}, count_to(24));
  expect_op({"Reshape"}, {x, ints({4, -1, 3})}, {4, 2, 3}, count_to(24));
  expect_op({"Reshape"}, {counting({1}), ints({0}, {})}, {}, {0});
  expect_op({"Reshape", "", 14, {attribute("allowzero", int64_t{1})}}, {counting({0, 3}), ints({3, 0})}, {3, 0}, {});
  expect_error({"Reshape"}, {x, ints({5, -1})}, "does not match the number of elements");
  expect_error({"Reshape"}, {x, ints({-1, -1})}, "more than one -1");
  expect_error({"Reshape"}, {x, ints({1, 1, 1, 0})}, "copies dimension 3");
  expect_error({"Reshape"}, {x, ints({INT64_MAX, INT64_MAX})}, "2^48");
  expect_error({"Reshape"}, {x, ints({-2, 12})}, "negative");
}

TEST(ShapeTest, SqueezeUnsqueezeFlatten) {
  const ir::Tensor x = counting({1, 3, 1, 2});
  expect_op({"Squeeze"}, {x}, {3, 2}, count_to(6));
  expect_op({"Squeeze"}, {x, ints({-2})}, {1, 3, 2}, count_to(6));
  expect_op({"Squeeze", "", 11, {attribute("axes", std::vector<int64_t>{0})}}, {x}, {3, 1, 2}, count_to(6));
  expect_op({"Unsqueeze"}, {counting({3, 2}), ints({0, -1})}, {1, 3, 2, 1}, count_to(6));
  expect_op({"Unsqueeze", "", 11, {attribute("axes", std::vector<int64_t>{1})}}, {counting({3, 2})}, {3, 1, 2},
            count_to(6));
  expect_op({"Flatten"}, {counting({2, 3, 4})}, {2, 12}, count_to(24));
  expect_op({"Flatten", "", 13, {axis(-1)}}, {counting({2, 3, 4})}, {6, 4}, count_to(24));
  expect_op({"Flatten", "", 13, {axis(0)}}, {counting({2, 3, 4})}, {1, 24}, count_to(24));
  expect_error({"Squeeze"}, {x, ints({1})}, "must be 1");
  expect_error({"Squeeze"}, {x, ints({9})}, "outside");
  expect_error({"Unsqueeze"}, {x, ints({0, 0})}, "twice");
  expect_error({"Flatten", "", 13, {axis(5)}}, {x}, "outside");
}

TEST(ShapeTest, TransposeEveryPermutation) {
  const ir::Tensor x = counting({2, 3, 4, 5});
  std::vector<int64_t> perm = {0, 1, 2, 3};
  do {
    ir::Shape dims;
    for (const int64_t i : perm) dims.push_back(x.dims()[static_cast<size_t>(i)]);
    std::vector<double> expected;
    for_each_index(dims, [&](const ir::Shape& index) {
      ir::Shape source(4);
      for (size_t i = 0; i < 4; ++i) source[static_cast<size_t>(perm[i])] = index[i];
      expected.push_back(at(x, source));
    });
    expect_op({"Transpose", "", 13, {attribute("perm", perm)}}, {x}, dims, expected, 0);
  } while (std::next_permutation(perm.begin(), perm.end()));
  expect_op({"Transpose"}, {counting({2, 3})}, {3, 2}, {0, 3, 1, 4, 2, 5});
  expect_error({"Transpose", "", 13, {attribute("perm", std::vector<int64_t>{0, 0, 1, 2})}}, {x},
               "is not a permutation");
  expect_error({"Transpose", "", 13, {attribute("perm", std::vector<int64_t>{1, 0})}}, {x}, "is not a permutation");
}

TEST(ShapeTest, TransposeMovesElementsOfEverySize) {
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt16, ElementType::kInt32, ElementType::kInt64}) {
    const ir::Tensor x = as_type(random_floats({1, 37, 5, 41}, -100, 100), type);
    std::vector<double> expected;
    for_each_index({1, 5, 41, 37}, [&](const ir::Shape& i) { expected.push_back(0 * i[0]); });
    const auto v = values(x);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = v[i % 37 * 205 + i / 37];
    expect_op({"Transpose", "", 13, {attribute("perm", std::vector<int64_t>{0, 2, 3, 1})}}, {x}, {1, 5, 41, 37},
              expected, 0);
  }
}

TEST(ShapeTest, ConcatAndSplitAreInverse) {
  const ir::Tensor x = counting({2, 6, 3, 4});
  for (int64_t a = -4; a < 4; ++a) {
    const int64_t length = x.dims()[static_cast<size_t>(a < 0 ? a + 4 : a)];
    for (const exec::Layout layout : {exec::Layout::kPlain, exec::Layout::kChannelsLast}) {
      OpCall split{"Split", "", 13, {axis(a)}, 2, layout};
      const auto parts = run_op(split, {x, ints({1, length - 1})});
      ASSERT_TRUE(parts.ok()) << parts.status().message();
      const auto joined = run_op({"Concat", "", 13, {axis(a)}, 1, layout}, parts.value());
      ASSERT_TRUE(joined.ok()) << joined.status().message();
      EXPECT_TRUE(joined.value()[0].same_as(x)) << a;
    }
  }
}

TEST(ShapeTest, SplitLengths) {
  const ir::Tensor x = counting({7});
  OpCall call{"Split", "", 18, {attribute("num_outputs", int64_t{3})}, 3};
  EXPECT_EQ(run_op(call, {x}).value()[2].dims(), (ir::Shape{1}));
  call = {"Split", "", 11, {attribute("split", std::vector<int64_t>{3, 4})}, 2};
  expect_near(run_op(call, {x}).value()[1], {3, 4, 5, 6}, 0);
  expect_error({"Split", "", 13, {}, 2}, {x}, "equal parts");
  expect_error({"Split", "", 13, {}, 2}, {x, ints({3, 3})}, "does not cut");
  expect_error({"Split", "", 13, {}, 2}, {x, ints({-1, 8})}, "does not cut");
  expect_error({"Concat", "", 13}, {x, x}, "axis is missing");
  expect_error({"Concat", "", 13, {axis(0)}}, {x, counting({2, 2})}, "do not concatenate");
  expect_error({"Concat", "", 13, {axis(0)}}, {x, ints({1})}, "allowed");
}

TEST(ShapeTest, SliceTakesStepsBothWays) {
  const ir::Tensor x = counting({3, 4, 5, 6});
  struct Row {
    std::vector<int64_t> starts, ends, axes, steps;
    ir::Shape dims;
  };
  const Row rows[] = {
      {{0, 1}, {2, 100}, {0, 1}, {1, 2}, {2, 2, 5, 6}},
      {{-1, -1}, {INT64_MIN, -4}, {1, 3}, {-1, -2}, {3, 4, 5, 2}},
      {{3}, {INT64_MAX}, {2}, {1}, {3, 4, 2, 6}},
      {{4}, {0}, {2}, {-3}, {3, 4, 2, 6}},
      {{2}, {1}, {0}, {1}, {0, 4, 5, 6}},
      {{0}, {5}, {-2}, {INT64_MAX}, {3, 4, 1, 6}},
      {{9}, {INT64_MIN}, {1}, {INT64_MIN}, {3, 1, 5, 6}},
      {{INT64_MIN, -5}, {INT64_MIN, -7}, {0, 1}, {-1, -2}, {1, 1, 5, 6}},  // a start before the first is the first
  };
  for (const Row& row : rows) {
    std::vector<double> expected;
    for_each_index(row.dims, [&](const ir::Shape& index) {
      ir::Shape source = index;
      for (size_t i = 0; i < row.axes.size(); ++i) {
        const auto a = static_cast<size_t>(row.axes[i] < 0 ? row.axes[i] + 4 : row.axes[i]);
        int64_t start = row.starts[i] < 0 ? row.starts[i] + x.dims()[a] : row.starts[i];
        start = std::clamp<int64_t>(start, 0, row.steps[i] < 0 ? x.dims()[a] - 1 : x.dims()[a]);
        source[a] = index[a] == 0 ? start : start + index[a] * row.steps[i];
      }
      expected.push_back(at(x, source));
    });
    expect_op({"Slice"}, {x, ints(row.starts), ints(row.ends), ints(row.axes), ints(row.steps)}, row.dims, expected, 0);
  }
  expect_op(
      {"Slice", "", 9, {attribute("starts", std::vector<int64_t>{1}), attribute("ends", std::vector<int64_t>{3})}},
      {counting({4})}, {2}, {1, 2});
  expect_error({"Slice"}, {x, ints({0}), ints({1}), ints({7})}, "outside");
  expect_error({"Slice"}, {x, ints({0}), ints({1}), ints({0}), ints({0})}, "step is 0");
  expect_error({"Slice"}, {x, ints({0, 0}), ints({1})}, "equally many");
  expect_error({"Slice"}, {x, ints({0, 0}), ints({1, 1}), ints({0, -4})}, "twice");
}

/// Reference of Pad: the input index for one output index, or -1.
int64_t padded_source(const std::string& mode, int64_t i, int64_t length) {
  if (mode == "constant") return i >= 0 && i < length ? i : -1;
  if (mode == "edge") return std::clamp<int64_t>(i, 0, length - 1);
  if (mode == "wrap") return ((i % length) + length) % length;
  while (i < 0 || i >= length) i = i < 0 ? -i : 2 * (length - 1) - i;
  return i;
}

TEST(ShapeTest, PadInEveryMode) {
  const ir::Tensor x = counting({2, 3, 4, 5});
  const std::vector<std::vector<int64_t>> all_pads = {
      {0, 0, 1, 2, 0, 0, 2, 1}, {0, 2, 0, 0, 0, 1, 0, 0}, {1, 0, 3, 0, 0, 0, 0, 4}, {0, 0, -1, 2, 0, -1, 0, -2}};
  for (const std::string mode : {"constant", "reflect", "edge", "wrap"}) {
    for (const std::vector<int64_t>& pads : all_pads) {
      ir::Shape dims = x.dims();
      for (size_t i = 0; i < 4; ++i) dims[i] += pads[i] + pads[i + 4];
      std::vector<double> expected;
      for_each_index(dims, [&](const ir::Shape& index) {
        ir::Shape source(4);
        bool filled = false;
        for (size_t i = 0; i < 4; ++i) {
          source[i] = padded_source(mode, index[i] - pads[i], x.dims()[i]);
          filled = filled || source[i] < 0;
        }
        expected.push_back(filled ? 9.5 : at(x, source));
      });
      expect_op({"Pad", "", 19, {attribute("mode", mode)}}, {x, ints(pads), floats({}, {9.5f})}, dims, expected, 0);
    }
  }
}

TEST(ShapeTest, PadOpsetsAxesAndErrors) {
  const ir::Tensor x = counting({2, 2});
  expect_op({"Pad", "", 2, {attribute("pads", std::vector<int64_t>{0, 1, 0, 0}), attribute("value", 7.0f)}}, {x},
            {2, 3}, {7, 0, 1, 7, 2, 3});
  for (const ElementType type : {ElementType::kDouble, ElementType::kFloat16}) {
    const OpCall old{"Pad", "", 2, {attribute("pads", std::vector<int64_t>{1, 0}), attribute("value", 0.5f)}};
    expect_op(old, {as_type(floats({1}, {2}), type)}, {2}, {0.5, 2});
  }
  expect_op({"Pad", "", 18}, {x, ints({1, 0}), ir::Tensor(), ints({-1})}, {2, 3}, {0, 0, 1, 0, 2, 3});
  expect_op({"Pad", "", 13}, {ints({1, 2}), ints({1, 1}), ints({}, {5})}, {4}, {5, 1, 2, 5});
  expect_error({"Pad"}, {x, ints({1})}, "1 pads for 2 axes");
  expect_error({"Pad"}, {x, ints({-3, 0, 0, 0})}, "pads -3");
  expect_error({"Pad"}, {x, ints({INT64_MAX, 0, 1, 0})}, "pads");
  expect_error({"Pad"}, {x, ints({1 << 30, 0, 1, 0})}, "allowed");
  expect_error({"Pad", "", 19, {attribute("mode", std::string("x"))}}, {x, ints({0, 0, 0, 0})}, "mode");
  expect_error({"Pad", "", 19}, {x, ints({0, 0, 0, 0}), ints({}, {5})}, "constant_value");
}

TEST(ShapeTest, TileAndExpand) {
  expect_op({"Tile"}, {counting({2, 2}), ints({2, 2})}, {4, 4}, {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3});
  expect_op({"Expand"}, {counting({3, 1}), ints({2, 1, 2})}, {2, 3, 2}, {0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2});
  expect_op({"Expand"}, {counting({3, 2}), ints({1})}, {3, 2}, count_to(6));
  expect_error({"Tile"}, {counting({2, 2}), ints({2})}, "repeats");
  expect_error({"Tile"}, {counting({2, 2}), ints({1LL << 40, 1LL << 40})}, "2^48");
  expect_error({"Tile"}, {counting({2, 2}), ints({-1, 1})}, "negative");
  expect_error({"Expand"}, {counting({3}), ints({2})}, "broadcast");
}

TEST(ShapeTest, MakesTensors) {
  expect_op({"ConstantOfShape", "", 9, {attribute("value", ints({7}))}}, {ints({2, 2})}, {2, 2}, {7, 7, 7, 7});
  expect_op({"ConstantOfShape"}, {ints({0}, {})}, {}, {0});
  expect_op({"Constant", "", 13, {attribute("value_ints", std::vector<int64_t>{4, 5})}}, {}, {2}, {4, 5});
  expect_op({"Constant", "", 13, {attribute("value", floats({1, 2}, {1, 2}))}}, {}, {1, 2}, {1, 2});
  expect_op({"Constant", "", 13, {attribute("value_float", 2.5f)}}, {}, {}, {2.5});
  expect_op({"Range"}, {ints({}, {10}), ints({}, {4}), ints({}, {-2})}, {3}, {10, 8, 6});
  expect_op({"Range"}, {floats({}, {0}), floats({}, {1}), floats({}, {0.3f})}, {4}, {0, 0.3, 0.6, 0.9}, 1e-6);
  expect_op({"Range"}, {ints({}, {1}), ints({}, {0}), ints({}, {1})}, {0}, {});
  for (const ElementType half : {ElementType::kFloat16, ElementType::kBFloat16}) {
    std::vector<ir::Tensor> inputs = {floats({}, {0}), floats({}, {1}), floats({}, {0.25f})};
    for (ir::Tensor& input : inputs) input = as_type(input, half);
    expect_op({"Range", "", 27}, inputs, {4}, {0, 0.25, 0.5, 0.75}, 0);
    expect_op({"Range", "", 27, {attribute("stash_type", int64_t{11})}}, inputs, {4}, {0, 0.25, 0.5, 0.75}, 0);
    expect_error({"Range", "", 27, {attribute("stash_type", int64_t{7})}}, inputs, "stash_type is 7");
  }
  expect_op({"EyeLike", "", 9, {attribute("k", int64_t{1})}}, {counting({2, 3})}, {2, 3}, {0, 1, 0, 0, 0, 1});
  expect_op({"Trilu"}, {counting({2, 2, 2})}, {2, 2, 2}, {0, 1, 0, 3, 4, 5, 0, 7});
  expect_op({"Trilu", "", 14, {attribute("upper", int64_t{0})}}, {counting({2, 3}), ints({}, {1})}, {2, 3},
            {0, 1, 0, 3, 4, 5});
  expect_error({"ConstantOfShape"}, {ints({-1})}, "negative");
  expect_error({"ConstantOfShape"}, {floats({1}, {1})}, "allowed");
  expect_error({"Constant", "", 13}, {}, "no value");
  expect_error({"Range"}, {ints({}, {1}), ints({}, {5}), ints({}, {0})}, "delta");
  expect_error({"Range"}, {floats({}, {0}), floats({}, {INFINITY}), floats({}, {1})}, "2^48");
  expect_error({"EyeLike"}, {counting({2})}, "rank");
  expect_error({"Trilu"}, {counting({2})}, "rank");
}

}  // namespace
}  // namespace quarkq::test
