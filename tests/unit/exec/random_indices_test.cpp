// SPDX-License-Identifier: MIT
// Operators that move elements, with random shapes, axes and indices, against loops over the output's indices.
#include <algorithm>

#include "support/op_checks.h"
#include "support/random_draws.h"

namespace quarkq::test {
namespace {

using Ints = std::vector<int64_t>;

int64_t from_front(int64_t index, int64_t length) { return index < 0 ? index + length : index; }

class RandomIndicesTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  /// An axis of this rank, counted from either side.
  int64_t axis(int64_t rank) { return draws_.integer(-rank, rank - 1); }

  Draws draws_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomIndicesTest, ::testing::Range(1u, 21u));

TEST_P(RandomIndicesTest, GatherTakesSlices) {
  const ir::Tensor x = draws_.tensor(draws_.shape(1, 4, 1, 4));
  const int64_t a = axis(x.rank()), front = from_front(a, x.rank());
  const ir::Shape places = draws_.shape(0, 2, 0, 3);
  const ir::Tensor indices = draws_.indices(places, x.dims()[static_cast<size_t>(front)]);
  ir::Shape dims = x.dims();
  dims.erase(dims.begin() + front);
  dims.insert(dims.begin() + front, places.begin(), places.end());
  const std::vector<double> xs = values(x), is = values(indices);
  std::vector<double> expected;
  for_each_index(dims, [&](const ir::Shape& at) {
    const ir::Shape place(at.begin() + front, at.begin() + front + indices.rank());
    ir::Shape source(at.begin(), at.begin() + front);
    source.push_back(
        from_front(static_cast<int64_t>(is[offset_of(places, place)]), x.dims()[static_cast<size_t>(front)]));
    source.insert(source.end(), at.begin() + front + indices.rank(), at.end());
    expected.push_back(xs[offset_of(x.dims(), source)]);
  });
  expect_op({"Gather", "", 13, {number("axis", a)}}, {x, indices}, dims, expected, 0);
}

TEST_P(RandomIndicesTest, GatherNdTakesWhatEachTupleNames) {
  const ir::Tensor x = draws_.tensor(draws_.shape(1, 4, 1, 4));
  const int64_t batch = draws_.integer(0, x.rank() - 1), depth = draws_.integer(1, x.rank() - batch);
  ir::Shape tuples(x.dims().begin(), x.dims().begin() + batch);
  for (const int64_t size : draws_.shape(0, 2, 1, 3)) tuples.push_back(size);
  ir::Shape index_dims = tuples, dims = tuples;
  index_dims.push_back(depth);
  dims.insert(dims.end(), x.dims().begin() + batch + depth, x.dims().end());
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < ir::checked_count(tuples); ++i) {
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t length = x.dims()[static_cast<size_t>(batch + k)];
      indices.push_back(draws_.integer(-length, length - 1));
    }
  }
  const std::vector<double> xs = values(x);
  std::vector<double> expected;
  for_each_index(dims, [&](const ir::Shape& at) {
    const ir::Shape tuple(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(tuples.size()));
    ir::Shape source(at.begin(), at.begin() + batch);
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t index = indices[offset_of(tuples, tuple) * static_cast<size_t>(depth) + static_cast<size_t>(k)];
      source.push_back(from_front(index, x.dims()[static_cast<size_t>(batch + k)]));
    }
    source.insert(source.end(), at.begin() + static_cast<std::ptrdiff_t>(tuples.size()), at.end());
    expected.push_back(xs[offset_of(x.dims(), source)]);
  });
  expect_op({"GatherND", "", 13, {number("batch_dims", batch)}}, {x, ints(index_dims, indices)}, dims, expected, 0);
}

TEST_P(RandomIndicesTest, ElementsGoAlongOneAxis) {
  const ir::Tensor x = draws_.tensor(draws_.shape(1, 4, 1, 4));
  const int64_t a = axis(x.rank());
  const auto front = static_cast<size_t>(from_front(a, x.rank()));
  ir::Shape dims;
  for (const int64_t size : x.dims()) dims.push_back(draws_.integer(1, size));
  dims[front] = draws_.integer(1, 5);
  const ir::Tensor indices = draws_.indices(dims, x.dims()[front]);
  const ir::Tensor updates = draws_.tensor(dims);
  const std::vector<double> xs = values(x), is = values(indices), us = values(updates);
  std::vector<double> gathered, added = xs;
  for_each_index(dims, [&](const ir::Shape& at) {
    ir::Shape source = at;
    source[front] = from_front(static_cast<int64_t>(is[offset_of(dims, at)]), x.dims()[front]);
    gathered.push_back(xs[offset_of(x.dims(), source)]);
    added[offset_of(x.dims(), source)] += us[offset_of(dims, at)];
  });
  expect_op({"GatherElements", "", 13, {number("axis", a)}}, {x, indices}, dims, gathered, 0);
  expect_op({"ScatterElements", "", 18, {number("axis", a), attribute("reduction", std::string("add"))}},
            {x, indices, updates}, x.dims(), added, 1e-6);
}

TEST_P(RandomIndicesTest, ScatterNdIsTheInverseOfGatherNd) {
  // Distinct places, so that what was written is read again, whatever the order.
  const ir::Tensor x = draws_.tensor(draws_.shape(2, 4, 1, 4));
  const int64_t depth = draws_.integer(1, x.rank());
  const ir::Shape indexed(x.dims().begin(), x.dims().begin() + depth);
  std::vector<ir::Shape> places;
  for_each_index(indexed, [&](const ir::Shape& at) { places.push_back(at); });
  std::shuffle(places.begin(), places.end(), std::mt19937(GetParam()));
  places.resize(static_cast<size_t>(draws_.integer(1, static_cast<int64_t>(places.size()))));
  std::vector<int64_t> flat;
  for (const ir::Shape& place : places) {
    for (size_t d = 0; d < place.size(); ++d) flat.push_back(draws_.coin() ? place[d] : place[d] - indexed[d]);
  }
  const ir::Tensor indices = ints({static_cast<int64_t>(places.size()), depth}, flat);
  ir::Shape update_dims = {static_cast<int64_t>(places.size())};
  update_dims.insert(update_dims.end(), x.dims().begin() + depth, x.dims().end());
  const ir::Tensor updates = draws_.tensor(update_dims, 10, 20);
  const auto written = run_op({"ScatterND", "", 18}, {x, indices, updates});
  ASSERT_TRUE(written.ok()) << written.status().message();
  const auto back = run_op({"GatherND"}, {written.value()[0], indices});
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_TRUE(back.value()[0].same_as(updates));
  const std::vector<double> before = values(x), after = values(written.value()[0]);
  size_t changed = 0;
  for (size_t i = 0; i < before.size(); ++i) changed += before[i] != after[i];
  EXPECT_EQ(changed, static_cast<size_t>(updates.size())) << "nothing else is written";
}

/// Starts and ends beyond the axis are cut to it. "Before the first" exists for the end of negative steps only, unlike
/// in numpy: so say the operator's definition, its type inference and ONNX Runtime.
Ints slice_places(int64_t length, int64_t start, int64_t end, int64_t step) {
  const auto cut = [&](int64_t at, int64_t lowest) {
    at = at < 0 ? at + length : at;
    return step > 0 ? std::clamp<int64_t>(at, 0, length) : std::clamp<int64_t>(at, lowest, length - 1);
  };
  Ints places;
  const int64_t last = end == INT64_MIN ? -1 : cut(end, -1);
  for (int64_t at = cut(start, 0); step > 0 ? at < last : at > last; at += step) places.push_back(at);
  return places;
}

TEST_P(RandomIndicesTest, SliceCutsStartsAndEndsToTheAxis) {
  const ir::Tensor x = draws_.tensor(draws_.shape(1, 4, 1, 5));
  Ints starts, ends, axes, steps;
  std::vector<Ints> places;
  for (const int64_t size : x.dims()) {
    places.emplace_back();
    for (int64_t i = 0; i < size; ++i) places.back().push_back(i);
  }
  for (size_t d = 0; d < x.dims().size(); ++d) {
    if (!draws_.coin()) continue;
    const int64_t length = x.dims()[d];
    steps.push_back(draws_.coin() ? draws_.integer(1, 3) : -draws_.integer(1, 3));
    starts.push_back(draws_.integer(-length - 2, length + 2));
    ends.push_back(draws_.integer(0, 4) == 0 ? (steps.back() > 0 ? INT64_MAX : INT64_MIN)
                                             : draws_.integer(-length - 2, length + 2));
    axes.push_back(draws_.coin() ? static_cast<int64_t>(d) : static_cast<int64_t>(d) - x.rank());
    places[d] = slice_places(length, starts.back(), ends.back(), steps.back());
  }
  ir::Shape dims;
  for (const Ints& along : places) dims.push_back(static_cast<int64_t>(along.size()));
  const std::vector<double> xs = values(x);
  std::vector<double> expected;
  for_each_index(dims, [&](const ir::Shape& at) {
    ir::Shape source;
    for (size_t d = 0; d < at.size(); ++d) source.push_back(places[d][static_cast<size_t>(at[d])]);
    expected.push_back(xs[offset_of(x.dims(), source)]);
  });
  SCOPED_TRACE(
      cat(shape_text(x.dims()), " ", shape_text(starts), shape_text(ends), shape_text(axes), shape_text(steps)));
  expect_op({"Slice", "", 13}, {x, ints(starts), ints(ends), ints(axes), ints(steps)}, dims, expected, 0);
}

TEST_P(RandomIndicesTest, PadRepeatsAsItsModeSays) {
  const ir::Tensor x = draws_.tensor(draws_.shape(1, 4, 2, 4));
  const auto rank = x.dims().size();
  const ir::Tensor fill = floats({}, {7.5f});
  const std::vector<double> xs = values(x);
  struct Mode {
    const char* name;
    int64_t (*source)(int64_t at, int64_t length);  ///< -1: the fill value
  };
  const Mode modes[] = {
      {"constant", [](int64_t at, int64_t length) { return at < 0 || at >= length ? int64_t{-1} : at; }},
      {"edge", [](int64_t at, int64_t length) { return std::clamp<int64_t>(at, 0, length - 1); }},
      {"reflect",
       [](int64_t at, int64_t length) {
         while (at < 0 || at >= length) at = at < 0 ? -at : 2 * (length - 1) - at;
         return at;
       }},
      {"wrap", [](int64_t at, int64_t length) { return (at % length + length) % length; }},
  };
  for (const Mode& mode : modes) {
    const Ints pads = draws_.integers(2 * rank, 0, 6);
    ir::Shape dims = x.dims();
    for (size_t d = 0; d < rank; ++d) dims[d] += pads[d] + pads[d + rank];
    std::vector<double> expected;
    for_each_index(dims, [&](const ir::Shape& at) {
      ir::Shape source;
      for (size_t d = 0; d < rank; ++d) source.push_back(mode.source(at[d] - pads[d], x.dims()[d]));
      const bool is_fill = std::find(source.begin(), source.end(), -1) != source.end();
      expected.push_back(is_fill ? 7.5 : xs[offset_of(x.dims(), source)]);
    });
    SCOPED_TRACE(cat(mode.name, " ", shape_text(x.dims()), " ", shape_text(pads)));
    expect_op({"Pad", "", 19, {attribute("mode", std::string(mode.name))}}, {x, ints(pads), fill}, dims, expected, 0);
  }
}

TEST_P(RandomIndicesTest, TileAndExpandRepeat) {
  const ir::Tensor x = draws_.tensor(draws_.shape(1, 4, 1, 3));
  const Ints repeats = draws_.integers(x.dims().size(), 0, 3);
  ir::Shape tiled = x.dims(), wide = x.dims();
  for (size_t d = 0; d < tiled.size(); ++d) tiled[d] *= repeats[d];
  for (int64_t& size : wide) size = size == 1 ? draws_.integer(0, 3) : size;
  wide.insert(wide.begin(), draws_.integer(1, 2));
  const std::vector<double> xs = values(x);
  std::vector<double> tiles, copies;
  for_each_index(tiled, [&](ir::Shape at) {
    for (size_t d = 0; d < at.size(); ++d) at[d] %= x.dims()[d];
    tiles.push_back(xs[offset_of(x.dims(), at)]);
  });
  for_each_index(wide, [&](ir::Shape at) {
    at.erase(at.begin());
    for (size_t d = 0; d < at.size(); ++d) at[d] %= x.dims()[d];
    copies.push_back(xs[offset_of(x.dims(), at)]);
  });
  expect_op({"Tile", "", 13}, {x, ints(repeats)}, tiled, tiles, 0);
  expect_op({"Expand", "", 13}, {x, ints(wide)}, wide, copies, 0);
}

TEST_P(RandomIndicesTest, TopKIsTheFrontOfASortedAxis) {
  const ir::Shape dims = draws_.shape(1, 3, 1, 5);
  const ir::Tensor x = ints(dims, draws_.integers(static_cast<size_t>(ir::checked_count(dims)), -2, 2));  // many ties
  const int64_t a = axis(x.rank());
  const auto front = static_cast<size_t>(from_front(a, x.rank()));
  const int64_t k = draws_.integer(0, dims[front]);
  const bool largest = draws_.coin();
  ir::Shape out = dims;
  out[front] = k;
  const std::vector<double> xs = values(x);
  std::vector<double> best, places;
  for_each_index(out, [&](ir::Shape at) {
    std::vector<std::pair<double, int64_t>> line;
    const auto rank = static_cast<size_t>(at[front]);
    for (at[front] = 0; at[front] < dims[front]; ++at[front]) {
      const double value = xs[offset_of(dims, at)];
      line.emplace_back(largest ? -value : value, at[front]);
    }
    std::sort(line.begin(), line.end());
    best.push_back(largest ? -line[rank].first : line[rank].first);
    places.push_back(static_cast<double>(line[rank].second));
  });
  const auto found = run_op({"TopK", "", 11, {number("axis", a), number("largest", largest)}, 2}, {x, ints({k})});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found.value()[0].dims(), out);
  expect_near(found.value()[0], best, 0);
  expect_near(found.value()[1], places, 0);
}

}  // namespace
}  // namespace quarkq::test
