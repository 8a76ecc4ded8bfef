// SPDX-License-Identifier: MIT
// Shapes under broadcasting and axes under normalization: properties that hold for every pair, and agreement with
// comparing the dimensions one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "ir/shape.h"

namespace quarkq::ir {
namespace {

/// Sizes 0 to 3 in up to four dimensions: all interesting pairs come up.
std::vector<Shape> drawn_shapes() {
  std::mt19937 generator(12);
  std::vector<Shape> shapes = {{}, {1}, {0}};
  for (int i = 0; i < 40; ++i) {
    Shape shape(generator() % 5);
    for (int64_t& size : shape) size = static_cast<int64_t>(generator() % 4);
    shapes.push_back(shape);
  }
  return shapes;
}

/// The dimension `back` places from the last; 1 beyond the first.
int64_t from_back(const Shape& shape, size_t back) { return back < shape.size() ? shape[shape.size() - 1 - back] : 1; }

TEST(ShapePropertiesTest, BroadcastingComparesDimensionsFromTheLast) {
  for (const Shape& a : drawn_shapes()) {
    for (const Shape& b : drawn_shapes()) {
      Shape expected(std::max(a.size(), b.size()));
      bool fits = true;
      for (size_t back = 0; back < expected.size(); ++back) {
        const int64_t left = from_back(a, back), right = from_back(b, back);
        fits = fits && (left == right || left == 1 || right == 1);
        expected[expected.size() - 1 - back] = left == 1 ? right : left;
      }
      const Result<Shape> found = broadcast(a, b);
      SCOPED_TRACE(shape_text(a) + " " + shape_text(b));
      ASSERT_EQ(found.ok(), fits);
      EXPECT_EQ(broadcast(b, a).ok(), fits) << "the order does not matter";
      if (!fits) continue;
      EXPECT_EQ(found.value(), expected);
      EXPECT_EQ(broadcast(b, a).value(), expected);
      EXPECT_EQ(broadcast(expected, a).value(), expected) << "once more changes nothing";
    }
  }
}

TEST(ShapePropertiesTest, BroadcastingIsAssociative) {
  const std::vector<Shape> shapes = drawn_shapes();
  for (size_t i = 0; i + 2 < shapes.size(); ++i) {
    const Result<Shape> first = broadcast(shapes[i], shapes[i + 1]), last = broadcast(shapes[i + 1], shapes[i + 2]);
    if (!first.ok() || !last.ok()) continue;
    const Result<Shape> left = broadcast(first.value(), shapes[i + 2]), right = broadcast(shapes[i], last.value());
    ASSERT_EQ(left.ok(), right.ok()) << i;
    EXPECT_EQ(left.ok() ? left.value() : Shape{}, right.ok() ? right.value() : Shape{}) << i;
  }
}

TEST(ShapePropertiesTest, CountsStopAtTheLimit) {
  constexpr int64_t kMost = int64_t{1} << 48;
  EXPECT_EQ(element_count({kMost, 1, 1}).value(), kMost);
  for (const Shape& shape :
       {Shape{kMost + 1}, Shape{kMost, 2}, Shape{1 << 24, 1 << 24, 2}, Shape{std::numeric_limits<int64_t>::max(), 3}}) {
    EXPECT_FALSE(element_count(shape).ok()) << shape_text(shape);
  }
  for (const Shape& shape : drawn_shapes()) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    EXPECT_EQ(element_count(shape).value(), count) << shape_text(shape);
    EXPECT_EQ(checked_count(shape), count);
  }
}

TEST(ShapePropertiesTest, EveryAxisHasTwoNames) {
  for (int64_t rank = 0; rank < 5; ++rank) {
    for (int64_t axis = -7; axis < 7; ++axis) {
      const Result<int64_t> found = normalize_axis(axis, rank);
      ASSERT_EQ(found.ok(), -rank <= axis && axis < rank) << axis << " of " << rank;
      if (!found.ok()) continue;
      EXPECT_EQ(found.value(), axis < 0 ? axis + rank : axis);
      EXPECT_EQ(normalize_axis(found.value(), rank).value(), found.value());
      EXPECT_EQ(normalize_axes(std::vector{axis}, rank).value(), std::vector<int64_t>{found.value()});
    }
  }
}

TEST(ShapePropertiesTest, TypesAreStaticWhenEverySizeIsKnown) {
  ValueType type{ElementType::kFloat, true, {{2, ""}, {0, "N"}, {3, ""}}, {}};
  EXPECT_TRUE(type.is_static());
  EXPECT_EQ(type.shape(), (Shape{2, 0, 3}));
  type.dims[1].size = -1;
  EXPECT_FALSE(type.is_static());
  ValueType scalar{ElementType::kFloat, true, {}, {}};
  EXPECT_TRUE(scalar.is_static());
  EXPECT_EQ(scalar.shape(), Shape{});
  scalar.has_shape = false;
  EXPECT_FALSE(scalar.is_static()) << "no rank is known";
  ValueType sequence{ElementType::kUndefined, false, {}, "bytes of a TypeProto"};
  EXPECT_FALSE(sequence.is_tensor());
}

}  // namespace
}  // namespace quarkq::ir
