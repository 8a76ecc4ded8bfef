// SPDX-License-Identifier: MIT
// Operators that rearrange, select and mask, with random shapes, against loops over the output's indices: blocks to
// depth and back, columns to images, triangles, one-hot rows, compression, reversed sequences, the unique values.
#include <algorithm>
#include <set>

#include "support/op_checks.h"
#include "support/random_draws.h"

namespace quarkq::test {
namespace {

using Ints = std::vector<int64_t>;

class RandomLayoutsTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  Draws draws_{GetParam() + 900};
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomLayoutsTest, ::testing::Range(1u, 17u));

TEST_P(RandomLayoutsTest, DepthToSpaceMovesChannelsIntoBlocks) {
  const int64_t block = draws_.integer(1, 3), groups = draws_.integer(1, 4);
  const ir::Tensor x =
      draws_.tensor({draws_.integer(1, 2), groups * block * block, draws_.integer(1, 4), draws_.integer(1, 4)});
  const ir::Shape dims = {x.dims()[0], groups, x.dims()[2] * block, x.dims()[3] * block};
  const std::vector<double> xs = values(x);
  for (const std::string mode : {"DCR", "CRD"}) {
    SCOPED_TRACE(cat(mode, " ", shape_text(x.dims()), " block ", block));
    std::vector<double> expected;
    for_each_index(dims, [&](const ir::Shape& at) {
      const int64_t tap = at[2] % block * block + at[3] % block;
      const int64_t channel = mode == "DCR" ? tap * groups + at[1] : at[1] * block * block + tap;
      expected.push_back(xs[offset_of(x.dims(), {at[0], channel, at[2] / block, at[3] / block})]);
    });
    expect_op({"DepthToSpace", "", 13, {number("blocksize", block), attribute("mode", mode)}}, {x}, dims, expected, 0);
  }
}

/// SpaceToDepth is the inverse of DepthToSpace in its first mode.
TEST_P(RandomLayoutsTest, SpaceToDepthIsTheInverse) {
  const int64_t block = draws_.integer(1, 3);
  const ir::Tensor x = draws_.tensor(
      {draws_.integer(1, 2), draws_.integer(1, 5) * block * block, draws_.integer(1, 4), draws_.integer(1, 4)});
  const auto wide = run_op({"DepthToSpace", "", 13, {number("blocksize", block)}}, {x});
  ASSERT_TRUE(wide.ok()) << wide.status().message();
  expect_op({"SpaceToDepth", "", 13, {number("blocksize", block)}}, {wide.value()[0]}, x.dims(), values(x), 0);
}

/// Col2Im adds each column at the place its window stands at.
TEST_P(RandomLayoutsTest, Col2ImAddsColumns) {
  const Ints kernel = draws_.integers(2, 1, 3), strides = draws_.integers(2, 1, 2),
             dilations = draws_.integers(2, 1, 2), pads = draws_.integers(4, 0, 1);
  Ints image, steps;
  for (size_t d = 0; d < 2; ++d) {
    const int64_t extent = (kernel[d] - 1) * dilations[d] + 1;
    image.push_back(std::max<int64_t>(extent - pads[d] - pads[d + 2], 1) + draws_.integer(0, 4));
    steps.push_back((image[d] + pads[d] + pads[d + 2] - extent) / strides[d] + 1);
  }
  const int64_t channels = draws_.integer(1, 3), taps = kernel[0] * kernel[1], windows = steps[0] * steps[1];
  const ir::Tensor columns = draws_.tensor({draws_.integer(1, 2), channels * taps, windows});
  const ir::Shape dims = {columns.dims()[0], channels, image[0], image[1]};
  std::vector<double> expected(static_cast<size_t>(ir::checked_count(dims)));
  const std::vector<double> cs = values(columns);
  for_each_index({dims[0], channels, kernel[0], kernel[1], steps[0], steps[1]}, [&](const ir::Shape& at) {
    const int64_t y = at[4] * strides[0] + at[2] * dilations[0] - pads[0];
    const int64_t x = at[5] * strides[1] + at[3] * dilations[1] - pads[1];
    if (y < 0 || x < 0 || y >= image[0] || x >= image[1]) return;
    expected[offset_of(dims, {at[0], at[1], y, x})] +=
        cs[offset_of(columns.dims(), {at[0], at[1] * taps + at[2] * kernel[1] + at[3], at[4] * steps[1] + at[5]})];
  });
  SCOPED_TRACE(cat("kernel ", shape_text(kernel), " strides ", shape_text(strides), " pads ", shape_text(pads)));
  expect_op(
      {"Col2Im", "", 18, {attribute("strides", strides), attribute("dilations", dilations), attribute("pads", pads)}},
      {columns, ints(image), ints(kernel)}, dims, expected, 1e-5);
}

TEST_P(RandomLayoutsTest, TriluKeepsOneSideOfADiagonal) {
  const ir::Tensor x = draws_.tensor(draws_.shape(2, 4, 1, 6));
  const size_t row = static_cast<size_t>(x.rank()) - 2;
  const int64_t diagonal = draws_.integer(-8, 8);
  const std::vector<double> xs = values(x);
  for (const int64_t upper : {0, 1}) {
    std::vector<double> expected;
    for_each_index(x.dims(), [&](const ir::Shape& at) {
      const int64_t across = at[row + 1] - at[row];
      const bool is_kept = upper == 1 ? across >= diagonal : across <= diagonal;
      expected.push_back(is_kept ? xs[offset_of(x.dims(), at)] : 0);
    });
    SCOPED_TRACE(cat(shape_text(x.dims()), " diagonal ", diagonal, " upper ", upper));
    expect_op({"Trilu", "", 14, {number("upper", upper)}}, {x, ints({}, {diagonal})}, x.dims(), expected, 0);
  }
}

TEST_P(RandomLayoutsTest, OneHotMarksOnePlaceOfItsAxis) {
  const ir::Shape places = draws_.shape(1, 3, 1, 4);
  const int64_t depth = draws_.integer(1, 5), rank = static_cast<int64_t>(places.size());
  const int64_t axis = draws_.integer(-rank - 1, rank), front = axis < 0 ? axis + rank + 1 : axis;
  // Indices that are outside from either end leave their row off.
  const ir::Tensor indices =
      ints(places, draws_.integers(static_cast<size_t>(ir::checked_count(places)), -depth - 1, depth));
  ir::Shape dims = places;
  dims.insert(dims.begin() + front, depth);
  const std::vector<double> is = values(indices);
  std::vector<double> expected;
  for_each_index(dims, [&](ir::Shape at) {
    const int64_t place = at[static_cast<size_t>(front)];
    at.erase(at.begin() + front);
    auto index = static_cast<int64_t>(is[offset_of(places, at)]);
    if (index < 0) index += depth;
    expected.push_back(index == place ? 7.5 : -1);
  });
  SCOPED_TRACE(cat(shape_text(places), " axis ", axis, " depth ", depth));
  expect_op({"OneHot", "", 11, {number("axis", axis)}}, {indices, ints({}, {depth}), floats({2}, {-1, 7.5f})}, dims,
            expected, 0);
}

TEST_P(RandomLayoutsTest, CompressTakesWhatIsMarked) {
  const ir::Tensor x = draws_.tensor(draws_.shape(1, 4, 1, 4));
  const int64_t axis = draws_.integer(-x.rank(), x.rank() - 1), front = axis < 0 ? axis + x.rank() : axis;
  const int64_t length = x.dims()[static_cast<size_t>(front)];
  std::vector<int> marks;
  Ints chosen;
  for (int64_t i = 0, count = draws_.integer(1, length); i < count; ++i) {  // a short condition leaves out the rest
    marks.push_back(draws_.coin());
    if (marks.back() != 0) chosen.push_back(i);
  }
  ir::Shape dims = x.dims();
  dims[static_cast<size_t>(front)] = static_cast<int64_t>(chosen.size());
  const std::vector<double> xs = values(x);
  std::vector<double> expected;
  for_each_index(dims, [&](ir::Shape at) {
    at[static_cast<size_t>(front)] = chosen[static_cast<size_t>(at[static_cast<size_t>(front)])];
    expected.push_back(xs[offset_of(x.dims(), at)]);
  });
  SCOPED_TRACE(cat(shape_text(x.dims()), " axis ", axis));
  const ir::Tensor condition = bools({static_cast<int64_t>(marks.size())}, marks);
  expect_op({"Compress", "", 11, {number("axis", axis)}}, {x, condition}, dims, expected, 0);
}

TEST_P(RandomLayoutsTest, ReverseSequenceTurnsTheFirstOfEachEntry) {
  const ir::Tensor x = draws_.tensor(draws_.shape(2, 4, 1, 5));
  const int64_t time = draws_.integer(0, 1), length = x.dims()[static_cast<size_t>(time)];
  const int64_t entries = x.dims()[static_cast<size_t>(1 - time)];
  const Ints turned = draws_.integers(static_cast<size_t>(entries), 1, length);
  const std::vector<double> xs = values(x);
  std::vector<double> expected;
  for_each_index(x.dims(), [&](ir::Shape at) {
    int64_t& step = at[static_cast<size_t>(time)];
    const int64_t own = turned[static_cast<size_t>(at[static_cast<size_t>(1 - time)])];
    if (step < own) step = own - 1 - step;
    expected.push_back(xs[offset_of(x.dims(), at)]);
  });
  SCOPED_TRACE(cat(shape_text(x.dims()), " lengths ", shape_text(turned), " time axis ", time));
  expect_op({"ReverseSequence", "", 10, {number("time_axis", time), number("batch_axis", 1 - time)}}, {x, ints(turned)},
            x.dims(), expected, 0);
}

/// The outputs of Unique say how the input is put together again.
TEST_P(RandomLayoutsTest, UniqueValuesGiveBackTheInput) {
  const ir::Shape dims = draws_.shape(1, 3, 1, 5);
  const ir::Tensor x = ints(dims, draws_.integers(static_cast<size_t>(ir::checked_count(dims)), -3, 3));
  const std::vector<double> xs = values(x);
  for (const int64_t sorted : {0, 1}) {
    OpCall call = {"Unique", "", 11, {number("sorted", sorted)}};
    call.outputs = 4;
    const auto found = run_op(call, {x});
    ASSERT_TRUE(found.ok()) << found.status().message();
    const std::vector<double> y = values(found.value()[0]), first = values(found.value()[1]),
                              inverse = values(found.value()[2]), counts = values(found.value()[3]);
    EXPECT_EQ(y.size(), std::set<double>(xs.begin(), xs.end()).size());
    EXPECT_TRUE(sorted == 0 || std::is_sorted(y.begin(), y.end()));
    ASSERT_EQ(inverse.size(), xs.size());
    for (size_t i = 0; i < xs.size(); ++i) EXPECT_EQ(y[static_cast<size_t>(inverse[i])], xs[i]);
    for (size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(counts[i], std::count(xs.begin(), xs.end(), y[i]));
      EXPECT_EQ(first[i], std::find(xs.begin(), xs.end(), y[i]) - xs.begin());
    }
    EXPECT_TRUE(sorted == 1 || std::is_sorted(first.begin(), first.end())) << "in the order of first occurrence";
  }
}

TEST_P(RandomLayoutsTest, EyeAndRangeCount) {
  const ir::Shape dims = {draws_.integer(1, 6), draws_.integer(1, 6)};
  const int64_t diagonal = draws_.integer(-6, 6);
  std::vector<double> expected;
  for_each_index(dims, [&](const ir::Shape& at) { expected.push_back(at[1] - at[0] == diagonal); });
  expect_op({"EyeLike", "", 9, {number("k", diagonal)}}, {draws_.tensor(dims)}, dims, expected, 0);
  const int64_t start = draws_.integer(-20, 20), limit = draws_.integer(-20, 20), step = draws_.coin() ? 3 : -2;
  expected.clear();
  for (int64_t at = start; step > 0 ? at < limit : at > limit; at += step) expected.push_back(static_cast<double>(at));
  SCOPED_TRACE(cat(start, " to ", limit, " by ", step));
  expect_op({"Range", "", 11}, {ints({}, {start}), ints({}, {limit}), ints({}, {step})},
            {static_cast<int64_t>(expected.size())}, expected, 0);
}

/// Element by element: what ScatterElements adds, GatherElements finds.
TEST_P(RandomLayoutsTest, ScatterElementsReduces) {
  const ir::Tensor x = draws_.tensor(draws_.shape(1, 3, 1, 5));
  const int64_t axis = draws_.integer(0, x.rank() - 1), length = x.dims()[static_cast<size_t>(axis)];
  ir::Shape dims = x.dims();
  for (int64_t& size : dims) size = draws_.integer(1, size);
  dims[static_cast<size_t>(axis)] = draws_.integer(1, 6);  // may be longer: places come more than once
  const ir::Tensor indices = draws_.indices(dims, length), updates = draws_.tensor(dims);
  const std::vector<double> is = values(indices), us = values(updates);
  struct Row {
    const char* name;
    double (*join)(double, double);
  };
  const Row rows[] = {{"add", [](double a, double b) { return a + b; }},
                      {"mul", [](double a, double b) { return a * b; }},
                      {"max", [](double a, double b) { return std::max(a, b); }},
                      {"min", [](double a, double b) { return std::min(a, b); }}};
  for (const Row& row : rows) {
    std::vector<double> expected = values(x);
    for_each_index(dims, [&](const ir::Shape& at) {
      ir::Shape place = at;
      const auto index = static_cast<int64_t>(is[offset_of(dims, at)]);
      place[static_cast<size_t>(axis)] = index < 0 ? index + length : index;
      double& target = expected[offset_of(x.dims(), place)];
      target = row.join(target, us[offset_of(dims, at)]);
    });
    SCOPED_TRACE(cat(row.name, " ", shape_text(x.dims()), " with ", shape_text(dims), " axis ", axis));
    expect_op({"ScatterElements", "", 18, {number("axis", axis), attribute("reduction", row.name)}},
              {x, indices, updates}, x.dims(), expected, 1e-5);
  }
}

}  // namespace
}  // namespace quarkq::test
