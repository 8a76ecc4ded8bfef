// SPDX-License-Identifier: MIT
#include <functional>
#include <limits>

#include "support/op_checks.h"

namespace quarkq::test {
namespace {

using Function = std::function<double(double, double)>;

struct BinaryCase {
  const char* op;
  Function expected;
};
const BinaryCase kArithmetic[] = {
    {"Add", [](double a, double b) { return a + b; }},
    {"Sub", [](double a, double b) { return a - b; }},
    {"Mul", [](double a, double b) { return a * b; }},
    {"Div", [](double a, double b) { return a / b; }},
    {"Min", [](double a, double b) { return std::min(a, b); }},
    {"Max", [](double a, double b) { return std::max(a, b); }},
    {"Sum", [](double a, double b) { return a + b; }},
    {"Mean", [](double a, double b) { return (a + b) / 2; }},
    {"Greater", [](double a, double b) { return a > b; }},
    {"GreaterOrEqual", [](double a, double b) { return a >= b; }},
    {"Less", [](double a, double b) { return a < b; }},
    {"LessOrEqual", [](double a, double b) { return a <= b; }},
    {"Equal", [](double a, double b) { return a == b; }},
};

/// Every way two shapes meet: same, scalar, per channel, per row, crossed.
const std::pair<ir::Shape, ir::Shape> kShapes[] = {
    {{2, 3, 4, 5}, {2, 3, 4, 5}},
    {{2, 3, 4, 5}, {}},
    {{}, {2, 3, 4, 5}},
    {{2, 3, 4, 5}, {3, 1, 1}},
    {{1, 3, 1, 1}, {2, 3, 4, 5}},
    {{2, 3, 4, 5}, {5}},
    {{2, 3, 4, 5}, {1, 3, 4, 1}},
    {{2, 1, 4, 1}, {1, 3, 1, 5}},
    {{7}, {7}},
    {{2, 3, 4, 5}, {2, 1, 1, 1}},
    {{0, 3}, {1, 3}},
    {{4, 3}, {4, 1}},
    {{1, 1, 1, 1}, {1}},
    {{2, 3, 4, 5}, {2, 1, 4, 5}},
};

std::vector<double> expected_of(const Function& f, const ir::Tensor& a, const ir::Tensor& b, const ir::Shape& dims) {
  std::vector<double> expected;
  for_each_index(dims, [&](const ir::Shape& index) { expected.push_back(f(at(a, index), at(b, index))); });
  return expected;
}

TEST(ElementwiseTest, BroadcastsEveryShapePair) {
  for (const BinaryCase& c : kArithmetic) {
    for (const auto& [left, right] : kShapes) {
      SCOPED_TRACE(cat(shape_text(left), " ", shape_text(right)));
      const ir::Tensor a = random_floats(left), b = random_floats(right, 0.5f, 2.0f, 2);
      const ir::Shape dims = ir::broadcast(left, right).value();
      expect_op({c.op}, {a, b}, dims, expected_of(c.expected, a, b, dims));
    }
  }
}

TEST(ElementwiseTest, EveryNumberType) {
  for (const ElementType type : {ElementType::kInt8, ElementType::kUInt8, ElementType::kInt16, ElementType::kUInt16,
                                 ElementType::kInt32, ElementType::kUInt32, ElementType::kInt64, ElementType::kUInt64,
                                 ElementType::kDouble, ElementType::kFloat16, ElementType::kBFloat16}) {
    const ir::Tensor a = as_type(floats({4}, {9, 4, 12, 7}), type), b = as_type(floats({4}, {3, 2, 3, 1}), type);
    SCOPED_TRACE(std::string(name(type)));
    expect_op({"Add"}, {a, b}, {4}, {12, 6, 15, 8});
    expect_op({"Sub"}, {a, b}, {4}, {6, 2, 9, 6});
    expect_op({"Mul"}, {a, b}, {4}, {27, 8, 36, 7});
    expect_op({"Div"}, {a, b}, {4}, {3, 2, 4, 7});
    expect_op({"Max"}, {a, b}, {4}, {9, 4, 12, 7});
    expect_op({"Pow"}, {b, b}, {4}, {27, 4, 27, 1}, 0);
    expect_op({"Less"}, {b, a}, {4}, {1, 1, 1, 1});
  }
}

TEST(ElementwiseTest, IntegersWrapAndDoNotTrap) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(run_op({"Div"}, {ints({kMin}), ints({-1})}).value()[0].data<int64_t>()[0], kMin);
  EXPECT_EQ(run_op({"Mod"}, {ints({kMin}), ints({-1})}).value()[0].data<int64_t>()[0], 0);
  EXPECT_EQ(run_op({"Sub"}, {ints({kMin}), ints({1})}).value()[0].data<int64_t>()[0],
            std::numeric_limits<int64_t>::max());
  expect_error({"Div"}, {ints({1}), ints({0})}, "division by zero");
  expect_error({"Mod"}, {ints({1}), ints({0})}, "division by zero");
}

/// Values of the table in the text of the operator.
TEST(ElementwiseTest, ModOfRealsTakesTheSignOfTheDivisor) {
  const ir::Tensor a = floats({7}, {-5.5f, 5.5f, 4, -0.0f, INFINITY, 3, -3});
  const ir::Tensor b = floats({7}, {2, -2, -2, 3, 2, 0, INFINITY});
  const double inf = INFINITY;
  expect_op({"Mod", "", 28}, {a, b}, {7}, {0.5, -0.5, 0, 0, NAN, NAN, inf});
  const auto zeros = run_op({"Mod", "", 28}, {floats({2}, {4, -4}), floats({2}, {-2, 2})});
  ASSERT_TRUE(zeros.ok()) << zeros.status().message();
  EXPECT_TRUE(std::signbit(zeros.value()[0].data<float>()[0]));
  EXPECT_FALSE(std::signbit(zeros.value()[0].data<float>()[1]));
}

TEST(ElementwiseTest, ModFollowsItsAttribute) {
  const ir::Tensor a = ints({-7, 7, -7, 7}), b = ints({3, -3, -3, 3});
  expect_op({"Mod"}, {a, b}, {4}, {2, -2, -1, 1});
  expect_op({"Mod", "", 13, {attribute("fmod", int64_t{1})}}, {a, b}, {4}, {-1, 1, -1, 1});
  expect_op({"Mod", "", 13, {attribute("fmod", int64_t{1})}}, {floats({2}, {-5.5f, 5.5f}), floats({2}, {2, 2})}, {2},
            {-1.5, 1.5});
}

TEST(ElementwiseTest, PowTakesExponentsOfAnotherType) {
  expect_op({"Pow"}, {floats({3}, {2, 3, 4}), ints({2, 3, -1})}, {3}, {4, 27, 0.25});
  expect_op({"Pow"}, {floats({3}, {4, 9, 2}), floats({}, {0.5f})}, {3}, {2, 3, std::sqrt(2.0)});
  expect_op({"Pow"}, {ints({2, 3, -2}), floats({}, {3})}, {3}, {8, 27, -8});
}

TEST(ElementwiseTest, VariadicOperatorsJoinAllInputs) {
  const ir::Tensor a = random_floats({2, 3, 4}), b = random_floats({3, 1}, -1, 1, 2),
                   c = random_floats({1, 1, 4}, -1, 1, 3);
  const ir::Shape dims = {2, 3, 4};
  std::vector<double> sum, mean, largest;
  for_each_index(dims, [&](const ir::Shape& i) {
    sum.push_back(at(a, i) + at(b, i) + at(c, i));
    mean.push_back(sum.back() / 3);
    largest.push_back(std::max({at(a, i), at(b, i), at(c, i)}));
  });
  expect_op({"Sum"}, {a, b, c}, dims, sum);
  expect_op({"Mean"}, {c, b, a}, dims, mean);
  expect_op({"Max"}, {b, c, a}, dims, largest);
  expect_op({"Sum"}, {a}, dims, values(a));
}

TEST(ElementwiseTest, MinAndMaxKeepNan) {
  expect_op({"Max"}, {floats({3}, {NAN, 1, 2}), floats({3}, {1, NAN, 3})}, {3}, {NAN, NAN, 3});
  expect_op({"Min"}, {floats({3}, {NAN, 1, 2}), floats({3}, {1, NAN, 3})}, {3}, {NAN, NAN, 2});
}

TEST(ElementwiseTest, PReluScalesNegatives) {
  const ir::Tensor x = random_floats({2, 3, 4, 5}), slope = floats({3, 1, 1}, {0.1f, 0.2f, 0.3f});
  expect_op({"PRelu"}, {x, slope}, x.dims(),
            expected_of([](double v, double s) { return v < 0 ? v * s : v; }, x, slope, x.dims()));
  expect_error({"PRelu"}, {floats({1}, {1}), floats({2}, {1, 2})}, "slope");
}

TEST(ElementwiseTest, Logic) {
  const ir::Tensor a = bools({4}, {0, 0, 1, 1}), b = bools({4}, {0, 1, 0, 1});
  expect_op({"And"}, {a, b}, {4}, {0, 0, 0, 1});
  expect_op({"Or"}, {a, b}, {4}, {0, 1, 1, 1});
  expect_op({"Xor"}, {a, b}, {4}, {0, 1, 1, 0});
  expect_op({"Equal"}, {a, b}, {4}, {1, 0, 0, 1});
}

TEST(ElementwiseTest, WhereSelectsElementsOfEverySize) {
  const ir::Tensor condition = bools({2, 1, 2}, {1, 0, 0, 1});
  const ir::Tensor a = random_floats({2, 3, 2}), b = floats({3, 1}, {7, 8, 9});
  for (const ElementType type : {ElementType::kFloat, ElementType::kInt8, ElementType::kFloat16, ElementType::kInt64}) {
    const ir::Tensor left = as_type(a, type), right = as_type(b, type);
    std::vector<double> expected;
    for_each_index(a.dims(),
                   [&](const ir::Shape& i) { expected.push_back(at(condition, i) != 0 ? at(left, i) : at(right, i)); });
    expect_op({"Where"}, {condition, left, right}, a.dims(), expected);
  }
  expect_error({"Where"}, {condition, a, ints({1})}, "one type");
}

TEST(ElementwiseTest, CastTruncatesClampsAndRounds) {
  const auto to = [](ElementType type) { return std::vector{attribute("to", static_cast<int64_t>(type))}; };
  const ir::Tensor x = floats({6}, {1.9f, -1.9f, 300, -300, NAN, 1e20f});
  expect_op({"Cast", "", 13, to(ElementType::kInt8)}, {x}, {6}, {1, -1, 127, -128, 0, 127});
  expect_op({"Cast", "", 13, to(ElementType::kUInt8)}, {x}, {6}, {1, 0, 255, 0, 0, 255});
  expect_op({"Cast", "", 13, to(ElementType::kBool)}, {floats({3}, {0, 0.5f, NAN})}, {3}, {0, 1, 1});
  expect_op({"Cast", "", 13, to(ElementType::kFloat)}, {ints({5, -7})}, {2}, {5, -7});
  expect_op({"Cast", "", 13, to(ElementType::kFloat16)}, {floats({2}, {1.00048828125f, 70000})}, {2}, {1.0, INFINITY});
  expect_op({"Cast", "", 13, to(ElementType::kInt8)}, {ints({300})}, {1}, {44});
  expect_op({"Cast", "", 13, to(ElementType::kFloat)}, {x}, {6}, values(x));
  expect_op({"CastLike", "", 15}, {ints({5}), floats({}, {0})}, {1}, {5});
  EXPECT_EQ(run_op({"Cast", "", 13, to(ElementType::kInt64)}, {x}).value()[0].data<int64_t>()[5], INT64_MAX);
  expect_error({"Cast", "", 13, {attribute("to", int64_t{99})}}, {x}, "99");
  expect_error({"Cast", "", 13}, {x}, "to is missing");
  expect_error({"Cast", "", 13, to(ElementType::kString)}, {x}, "casts");
}

TEST(ElementwiseTest, RejectsWhatItCannotTake) {
  expect_error({"Add"}, {floats({2}, {1, 2}), floats({3}, {1, 2, 3})}, "broadcast");
  expect_error({"Add"}, {floats({1}, {1}), ints({1})}, "one type");
  expect_error({"Add"}, {floats({1}, {1})}, "missing");
  expect_error({"Sum"}, {}, "missing");
  expect_error({"And"}, {ints({1}), ints({1})}, "allowed: BOOL");
  expect_error({"Add"}, {bools({1}, {1}), bools({1}, {1})}, "allowed: numbers");
  expect_error({"Mod"}, {floats({1}, {1}), floats({1}, {1})}, "fmod");
}

}  // namespace
}  // namespace quarkq::test
