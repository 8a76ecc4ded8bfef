// SPDX-License-Identifier: MIT
#include <functional>

#include "base/isa.h"
#include "exec/kernels/elementwise/unary_loops.h"
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

using Function = std::function<double(double)>;

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

struct UnaryCase {
  const char* op;
  Function expected;
  float low = -8, high = 8;
  std::vector<ir::Attribute> attributes = {};
};

const std::vector<UnaryCase>& unary_cases() {
  static const std::vector<UnaryCase> cases = {
      {"Relu", [](double x) { return std::max(x, 0.0); }},
      {"LeakyRelu", [](double x) { return x < 0 ? 0.125 * x : x; }, -8, 8, {attribute("alpha", 0.125f)}},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"HardSigmoid",
       [](double x) { return std::clamp(0.25 * x + 0.5, 0.0, 1.0); },
       -8,
       8,
       {attribute("alpha", 0.25f)}},
      {"HardSwish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Log", [](double x) { return std::log(x); }, 0.01f},
      {"Sqrt", [](double x) { return std::sqrt(x); }, 0},
      {"Neg", [](double x) { return -x; }},
      {"Abs", [](double x) { return std::fabs(x); }},
      {"Reciprocal", [](double x) { return 1 / x; }, 0.1f},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Round", [](double x) { return std::rint(x); }},
      {"Sign", [](double x) { return static_cast<double>((x > 0) - (x < 0)); }},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Erf", [](double x) { return std::erf(x); }},
      {"Gelu", [](double x) { return 0.5 * x * (1 + std::erf(x * M_SQRT1_2)); }},
      {"Gelu",
       [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); },
       -8,
       8,
       {attribute("approximate", std::string("tanh"))}},
      {"Elu", [](double x) { return x < 0 ? 0.5 * std::expm1(x) : x; }, -8, 8, {attribute("alpha", 0.5f)}},
      {"Selu", [](double x) { return 1.0507009873554805 * (x < 0 ? 1.6732632423543772 * std::expm1(x) : x); }},
      {"Softplus", softplus},
      {"Softsign", [](double x) { return x / (1 + std::fabs(x)); }},
      {"ThresholdedRelu", [](double x) { return x > 1.5 ? x : 0; }, -8, 8, {attribute("alpha", 1.5f)}},
      {"Celu", [](double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; }, -8, 8, {attribute("alpha", 2.0f)}},
      {"Mish", [](double x) { return x * std::tanh(softplus(x)); }, -20, 40},
      {"Shrink",
       [](double x) { return x < -1.5  ? x + 0.5
                             : x > 1.5 ? x - 0.5
                                       : 0; },
       -8,
       8,
       {attribute("bias", 0.5f), attribute("lambd", 1.5f)}},
      {"Tan", [](double x) { return std::tan(x); }, -1.4f, 1.4f},
      {"Asin", [](double x) { return std::asin(x); }, -1, 1},
      {"Acos", [](double x) { return std::acos(x); }, -1, 1},
      {"Atan", [](double x) { return std::atan(x); }},
      {"Sinh", [](double x) { return std::sinh(x); }},
      {"Cosh", [](double x) { return std::cosh(x); }},
      {"Asinh", [](double x) { return std::asinh(x); }},
      {"Acosh", [](double x) { return std::acosh(x); }, 1},
      {"Atanh", [](double x) { return std::atanh(x); }, -0.9f, 0.9f},
  };
  return cases;
}

TEST(ActivationTest, FloatsFollowTheDefinition) {
  for (const UnaryCase& c : unary_cases()) {
    const ir::Tensor x = random_floats({2, 5, 3, 7}, c.low, c.high);
    std::vector<double> expected = values(x);
    for (double& v : expected) v = c.expected(v);
    expect_op({c.op, "", 21, c.attributes}, {x}, x.dims(), expected, 1e-6);
  }
}

TEST(ActivationTest, OtherRealTypesFollowTheDefinition) {
  for (const auto& [type, tolerance] :
       {std::pair{ElementType::kFloat16, 2e-3}, {ElementType::kBFloat16, 1e-2}, {ElementType::kDouble, 1e-7}}) {
    for (const UnaryCase& c : unary_cases()) {
      const ir::Tensor x = as_type(random_floats({3, 50}, c.low, std::min(c.high, 8.0f)), type);
      std::vector<double> expected = values(x);
      for (double& v : expected) v = c.expected(v);
      expect_op({c.op, "", 21, c.attributes}, {x}, x.dims(), expected, tolerance);
    }
  }
}

TEST(ActivationTest, IntegersAreExact) {
  const ir::Tensor x = ints({5}, {-3, 0, 7, INT64_MIN, INT64_MAX});
  const auto run = [&](const char* op) { return run_op({op}, {x}).value()[0]; };
  EXPECT_EQ(run("Neg").data<int64_t>()[3], INT64_MIN);
  EXPECT_EQ(run("Abs").data<int64_t>()[0], 3);
  EXPECT_EQ(run("Sign").data<int64_t>()[4], 1);
  EXPECT_EQ(run("Relu").data<int64_t>()[3], 0);
  const std::vector attributes = {attribute("bias", -100.0f), attribute("lambd", 1.0f)};
  const ir::Tensor bytes = ir::Tensor::from<int8_t>({3}, std::vector<int8_t>{-100, 1, 100});
  expect_op({"Shrink", "", 9, attributes}, {bytes}, {3}, {-128, 0, 127});  // saturates
}

TEST(ActivationTest, ClipTakesLimitsOfEveryOpset) {
  const ir::Tensor x = floats({4}, {-5, -1, 2, NAN});
  const std::vector<double> expected = {-2, -1, 1, NAN};
  expect_op({"Clip", "", 13}, {x, floats({}, {-2}), floats({}, {1})}, {4}, expected);
  expect_op({"Clip", "", 10, {attribute("min", -2.0f), attribute("max", 1.0f)}}, {x}, {4}, expected);
  expect_op({"Clip", "", 13}, {x, ir::Tensor(), floats({}, {1})}, {4}, {-5, -1, 1, NAN});
  expect_op({"Clip", "", 13}, {ints({-9, 9}), ints({}, {-3})}, {2}, {-3, 9});
  expect_op({"Clip", "", 13}, {as_type(x, ElementType::kFloat16), as_type(floats({}, {-2}), ElementType::kFloat16)},
            {4}, {-2, -1, 2, NAN});
}

TEST(ActivationTest, PredicatesAndLogic) {
  const ir::Tensor x = floats({4}, {NAN, INFINITY, -INFINITY, 1});
  expect_op({"IsNaN"}, {x}, {4}, {1, 0, 0, 0});
  expect_op({"IsInf"}, {x}, {4}, {0, 1, 1, 0});
  expect_op({"IsInf", "", 20, {attribute("detect_negative", int64_t{0})}}, {x}, {4}, {0, 1, 0, 0});
  expect_op({"Not"}, {bools({2}, {1, 0})}, {2}, {0, 1});
}

TEST(ActivationTest, DropoutPassesAndMasks) {
  OpCall call{"Dropout", "", 13};
  call.outputs = 2;
  const auto result = run_op(call, {floats({3}, {1, 2, 3})});
  ASSERT_TRUE(result.ok());
  expect_near(result.value()[0], {1, 2, 3}, 0);
  EXPECT_EQ(result.value()[1].type(), ElementType::kBool);
  expect_near(result.value()[1], {1, 1, 1}, 0);
  expect_op({"Dropout", "", 7}, {floats({2}, {1, 2})}, {2}, {1, 2});
  expect_op({"Dropout", "", 13}, {floats({2}, {1, 2}), floats({}, {0}), bools({}, {1})}, {2}, {1, 2});
}

/// Largest relative error of a loop over a sweep of floats, where the exact result is a normal number.
double worst_error(decltype(&exec::sse41::unary_loop) loop, exec::Unary op, const Function& exact, float low,
                   float high) {
  double worst = 0;
  std::vector<float> x, y(4096);
  for (int part = 0; part < 50; ++part) {
    x.clear();
    for (int i = 0; i < 4096; ++i) x.push_back(low + (high - low) * (static_cast<float>(part * 4096 + i) / 204800.0f));
    for (int i = 0; i < 64; ++i) x[static_cast<size_t>(i)] = std::ldexp(part % 2 == 0 ? 1.37f : -1.91f, -i - part / 2);
    if (low >= 0)
      for (float& v : x) v = std::fabs(v);
    loop({op}, x.data(), y.data(), 4096);
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = exact(static_cast<double>(x[i]));
      if (std::fabs(expected) < 1.2e-38 || std::fabs(expected) > 3.4e38) continue;
      worst = std::max(worst, std::fabs(static_cast<double>(y[i]) - expected) / std::fabs(expected));
    }
  }
  return worst;
}

TEST(ActivationTest, MathIsAccurateOnEveryIsa) {
  struct Row {
    const char* name;
    exec::Unary op;
    Function exact;
    float low, high;
  };
  const Row rows[] = {{"exp", exec::Unary::kExp, [](double x) { return std::exp(x); }, -88, 89},
                      {"tanh", exec::Unary::kTanh, [](double x) { return std::tanh(x); }, -10, 10},
                      {"erf", exec::Unary::kErf, [](double x) { return std::erf(x); }, -5, 5},
                      {"sigmoid", exec::Unary::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -87, 88},
                      {"log", exec::Unary::kLog, [](double x) { return std::log(x); }, 1e-30f, 20},
                      {"softplus", exec::Unary::kSoftplus, softplus, -80, 80}};
  using Loop = decltype(&exec::sse41::unary_loop);
  const std::pair<Isa, Loop> loops[] = {{Isa::kSse41, exec::sse41::unary_loop},
                                        {Isa::kAvx2, exec::avx2::unary_loop},
                                        {Isa::kAvx512, exec::avx512::unary_loop}};
  for (const auto& [isa_of_loop, loop] : loops) {
    if (isa_of_loop > isa()) continue;
    for (const Row& row : rows) {
      EXPECT_LE(worst_error(loop, row.op, row.exact, row.low, row.high), 3e-7)
          << row.name << " " << isa_name(isa_of_loop);
    }
  }
}

TEST(ActivationTest, SpecialValues) {
  const ir::Tensor x = floats({6}, {INFINITY, -INFINITY, NAN, 0, 200, -200});
  expect_op({"Exp"}, {x}, {6}, {INFINITY, 0, NAN, 1, INFINITY, 0});
  expect_op({"Tanh"}, {x}, {6}, {1, -1, NAN, 0, 1, -1});
  expect_op({"Erf"}, {x}, {6}, {1, -1, NAN, 0, 1, -1});
  expect_op({"Sigmoid"}, {x}, {6}, {1, 0, NAN, 0.5, 1, 0});
  expect_op({"Log"}, {x}, {6}, {INFINITY, NAN, NAN, -INFINITY, std::log(200.0), NAN});
  expect_op({"Softplus"}, {x}, {6}, {INFINITY, 0, NAN, std::log(2.0), 200, 0});
  expect_op({"Mish"}, {floats({3}, {NAN, 200, -200})}, {3}, {NAN, 200, 0});
  expect_op({"Elu"}, {x}, {6}, {INFINITY, -1, NAN, 0, 200, -1});
}

TEST(ActivationTest, RejectsWhatItCannotTake) {
  expect_error({"Tanh"}, {ints({1})}, "allowed");
  expect_error({"Tanh"}, {}, "missing");
  expect_error({"Not"}, {floats({1}, {1})}, "allowed: BOOL");
  expect_error({"Gelu", "", 20, {attribute("approximate", std::string("x"))}}, {floats({1}, {1})}, "approximate");
  expect_error({"Clip", "", 13}, {floats({1}, {1}), ints({0})}, "limit 1");
  expect_error({"Clip", "", 13}, {floats({1}, {1}), floats({2}, {0, 1})}, "is not a scalar");
  expect_error({"Dropout", "", 13}, {floats({1}, {1}), ir::Tensor(), bools({}, {1})}, "training_mode");
  expect_error({"Celu", "", 13, {attribute("alpha", 0.0f)}}, {floats({1}, {1})}, "alpha");
}

TEST(ActivationTest, ThresholdedReluOfNanIsZero) {  // "x where x > alpha, else 0", as for float64
  for (const ElementType type : {ElementType::kFloat, ElementType::kDouble}) {
    expect_op({"ThresholdedRelu", "", 10}, {as_type(floats({3}, {NAN, 2, -1}), type)}, {3}, {0, 2, 0});
  }
}

}  // namespace
}  // namespace quarkq::test
