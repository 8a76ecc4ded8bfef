// SPDX-License-Identifier: MIT
// Arithmetic at the ends of every integer type, against the same computed in 128 bits and cut to the type.
#include <gtest/gtest.h>

#include <limits>

#include "support/op_checks.h"

namespace quarkq::test {
namespace {

__extension__ using Wide = __int128;

template <typename T>
class IntegerEdgesTest : public ::testing::Test {
 protected:
  using Limits = std::numeric_limits<T>;
  /// Every pair of numbers near zero, the ends and the middle of the type.
  static std::vector<T> edges() {
    return {T(0),
            T(1),
            T(2),
            T(3),
            T(7),
            Limits::max(),
            T(Limits::max() - 1),
            Limits::min(),
            T(Limits::min() + 1),
            T(Limits::max() / 2),
            T(Limits::max() / 2 + 1),
            T(-1),
            T(-3)};
  }
  static ir::Tensor left() { return pairs(true); }
  static ir::Tensor right(bool with_zero = true) { return pairs(false, with_zero); }

  /// The low bits of `value`.
  static T cut(Wide value) { return static_cast<T>(static_cast<uint64_t>(value)); }

  /// Compares an operator on all pairs with `expected(a, b)`.
  template <typename F>
  void expect_pairs(const OpCall& call, const F& expected, bool with_zero = true) {
    const ir::Tensor a = pairs(true, with_zero), b = pairs(false, with_zero);
    const auto found = run_op(call, {a, b});
    ASSERT_TRUE(found.ok()) << found.status().message();
    const auto as = a.template data<T>(), bs = b.template data<T>(), got = found.value()[0].template data<T>();
    for (size_t i = 0; i < as.size(); ++i) {
      ASSERT_EQ(got[i], cut(expected(Wide(as[i]), Wide(bs[i])))) << call.op << " of " << +as[i] << " and " << +bs[i];
    }
  }
  template <typename F>
  void expect_each(const OpCall& call, const F& expected) {
    const std::vector<T> all = edges();
    const auto found = run_op(call, {ir::Tensor::from<T>({static_cast<int64_t>(all.size())}, all)});
    ASSERT_TRUE(found.ok()) << found.status().message();
    const auto got = found.value()[0].template data<T>();
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(got[i], cut(expected(Wide(all[i])))) << call.op << " of " << +all[i];
    }
  }

 private:
  static ir::Tensor pairs(bool first, bool with_zero = true) {
    std::vector<T> made;
    for (const T a : edges()) {
      for (const T b : edges()) {
        if (with_zero || b != 0) made.push_back(first ? a : b);
      }
    }
    return ir::Tensor::from<T>({static_cast<int64_t>(made.size())}, made);
  }
};

using Types = ::testing::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>;
TYPED_TEST_SUITE(IntegerEdgesTest, Types);

TYPED_TEST(IntegerEdgesTest, SumsAndProductsWrap) {
  this->expect_pairs({"Add"}, [](Wide a, Wide b) { return a + b; });
  this->expect_pairs({"Sub"}, [](Wide a, Wide b) { return a - b; });
  // 64-bit products do not fit in 128 signed bits: both factors are cut first, which leaves the low bits alone.
  this->expect_pairs(
      {"Mul"}, [](Wide a, Wide b) { return static_cast<Wide>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); });
  this->expect_pairs({"Sum"}, [](Wide a, Wide b) { return a + b; });
}

TYPED_TEST(IntegerEdgesTest, QuotientsTruncateAndRemaindersFollowTheDivisor) {
  constexpr bool kWithoutZero = false;
  this->expect_pairs(
      {"Div"}, [](Wide a, Wide b) { return a / b; }, kWithoutZero);
  this->expect_pairs(
      {"Mod"},
      [](Wide a, Wide b) {
        const Wide rest = a % b;
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      },
      kWithoutZero);
  this->expect_pairs(
      {"Mod", "", 13, {number("fmod", 1)}}, [](Wide a, Wide b) { return a % b; }, kWithoutZero);
}

TYPED_TEST(IntegerEdgesTest, ExtremesAndBitsCompareTheWholeNumber) {
  this->expect_pairs({"Min"}, [](Wide a, Wide b) { return std::min(a, b); });
  this->expect_pairs({"Max"}, [](Wide a, Wide b) { return std::max(a, b); });
  this->expect_pairs({"BitwiseAnd", "", 18}, [](Wide a, Wide b) { return a & b; });
  this->expect_pairs({"BitwiseOr", "", 18}, [](Wide a, Wide b) { return a | b; });
  this->expect_pairs({"BitwiseXor", "", 18}, [](Wide a, Wide b) { return a ^ b; });
}

TYPED_TEST(IntegerEdgesTest, SingleNumbers) {
  this->expect_each({"Neg"}, [](Wide x) { return -x; });
  this->expect_each({"Abs"}, [](Wide x) { return x < 0 ? -x : x; });
  this->expect_each({"Sign"}, [](Wide x) { return Wide(x > 0) - Wide(x < 0); });
  this->expect_each({"Relu", "", 14}, [](Wide x) { return std::max(x, Wide(0)); });
  this->expect_each({"BitwiseNot", "", 18}, [](Wide x) { return -x - 1; });
}

TYPED_TEST(IntegerEdgesTest, ComparisonsKeepTheLastBit) {
  struct Row {
    const char* op;
    bool (*expected)(Wide, Wide);
  };
  const Row rows[] = {{"Less", [](Wide a, Wide b) { return a < b; }},
                      {"LessOrEqual", [](Wide a, Wide b) { return a <= b; }},
                      {"Greater", [](Wide a, Wide b) { return a > b; }},
                      {"GreaterOrEqual", [](Wide a, Wide b) { return a >= b; }},
                      {"Equal", [](Wide a, Wide b) { return a == b; }}};
  const ir::Tensor a = this->left(), b = this->right();
  for (const Row& row : rows) {
    const auto found = run_op({row.op, "", 16}, {a, b});
    ASSERT_TRUE(found.ok()) << found.status().message();
    const auto got = found.value()[0].template data<uint8_t>();
    for (size_t i = 0; i < got.size(); ++i) {
      const TypeParam l = a.template data<TypeParam>()[i], r = b.template data<TypeParam>()[i];
      ASSERT_EQ(got[i] != 0, row.expected(l, r)) << row.op << " of " << +l << " and " << +r;
    }
  }
}

TYPED_TEST(IntegerEdgesTest, ReductionsOfOneColumn) {
  const std::vector<TypeParam> all = this->edges();
  const ir::Tensor x = ir::Tensor::from<TypeParam>({static_cast<int64_t>(all.size())}, all);
  Wide sum = 0;
  for (const TypeParam value : all) sum += value;
  struct Row {
    const char* op;
    TypeParam expected;
  };
  const Row rows[] = {{"ReduceSum", this->cut(sum)},
                      {"ReduceMax", *std::max_element(all.begin(), all.end())},
                      {"ReduceMin", *std::min_element(all.begin(), all.end())}};
  for (const Row& row : rows) {
    const auto found = run_op({row.op, "", 18, {number("keepdims", 0)}}, {x});
    if (!found.ok()) {
      EXPECT_EQ(found.status().code(), Code::kUnsupported) << found.status().message();
      continue;  // not every width is an operator's
    }
    EXPECT_EQ(found.value()[0].template data<TypeParam>()[0], row.expected) << row.op;
  }
}

/// Floats beyond the type become its ends, NaN becomes 0; what is inside is cut towards zero.
TYPED_TEST(IntegerEdgesTest, FloatsAreClampedToTheType) {
  using Limits = std::numeric_limits<TypeParam>;
  const double low = static_cast<double>(Limits::min()), high = static_cast<double>(Limits::max());
  const std::vector<double> xs = {0.0, -0.0, 0.99, -0.99, 1.5, high * 2 + 2, low * 2 - 2, INFINITY, -INFINITY, NAN};
  std::vector<TypeParam> expected = {0, 0, 0, 0, 1, Limits::max(), Limits::min(), Limits::max(), Limits::min(), 0};
  const ir::Tensor doubles = ir::Tensor::from<double>({static_cast<int64_t>(xs.size())}, xs);
  std::vector<float> narrow(xs.begin(), xs.end());
  for (const ir::Tensor& x : {doubles, floats(doubles.dims(), narrow)}) {
    const int64_t to = static_cast<int64_t>(element_type_of<TypeParam>());
    const auto found = run_op({"Cast", "", 13, {number("to", to)}}, {x});
    ASSERT_TRUE(found.ok()) << found.status().message();
    const auto got = found.value()[0].template data<TypeParam>();
    for (size_t i = 0; i < xs.size(); ++i) EXPECT_EQ(got[i], expected[i]) << name(x.type()) << " " << xs[i];
  }
}

TYPED_TEST(IntegerEdgesTest, CastsBetweenIntegersKeepTheLowBits) {
  const std::vector<TypeParam> all = this->edges();
  const ir::Tensor x = ir::Tensor::from<TypeParam>({static_cast<int64_t>(all.size())}, all);
  const auto expect_cast = [&]<typename To>(To) {
    const int64_t to = static_cast<int64_t>(element_type_of<To>());
    const auto found = run_op({"Cast", "", 13, {number("to", to)}}, {x});
    ASSERT_TRUE(found.ok()) << found.status().message();
    const auto got = found.value()[0].template data<To>();
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(got[i], static_cast<To>(all[i])) << +all[i] << " to " << name(element_type_of<To>());
    }
  };
  expect_cast(int8_t{});
  expect_cast(uint8_t{});
  expect_cast(int16_t{});
  expect_cast(uint16_t{});
  expect_cast(int32_t{});
  expect_cast(uint32_t{});
  expect_cast(int64_t{});
  expect_cast(uint64_t{});
}

TEST(IntegerPowTest, IsExactWhereTheResultFits) {
  struct Row {
    int64_t base, exponent, expected;
  };
  const Row rows[] = {{0, 0, 1},           {-1, 63, -1}, {-1, 64, 1},  {3, 39, 4052555153018976267},
                      {-2, 63, INT64_MIN}, {7, 1, 7},    {1, 1000, 1}, {2, 62, int64_t{1} << 62}};
  for (const Row& row : rows) {
    const auto found = run_op({"Pow"}, {ints({row.base}), ints({row.exponent})});
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found.value()[0].data<int64_t>()[0], row.expected) << row.base << "^" << row.exponent;
  }
}

}  // namespace
}  // namespace quarkq::test
