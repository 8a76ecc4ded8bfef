// SPDX-License-Identifier: MIT
// Operators of com.microsoft that optimizers make.
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

const char* const kDomain = "com.microsoft";
double gelu_of(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x))); }

TEST(FusedTest, GeluAndItsRelatives) {
  const ir::Tensor x = random_floats({3, 37}, -4, 4), bias = random_floats({37}, -1, 1, 2);
  std::vector<double> plain, biased, fast, fast_biased, quick;
  for_each_index(x.dims(), [&](const ir::Shape& i) {
    const double v = at(x, i), b = at(bias, {i[1]});
    plain.push_back(gelu_of(v));
    biased.push_back(gelu_of(v + b));
    fast.push_back(gelu_tanh(v));
    fast_biased.push_back(gelu_tanh(v + b));
    quick.push_back(v / (1 + std::exp(-1.702 * v)));
  });
  expect_op({"Gelu", kDomain, 1}, {x}, x.dims(), plain, 2e-6);
  expect_op({"BiasGelu", kDomain, 1}, {x, bias}, x.dims(), biased, 2e-6);
  expect_op({"FastGelu", kDomain, 1}, {x}, x.dims(), fast, 2e-6);
  expect_op({"FastGelu", kDomain, 1}, {x, bias}, x.dims(), fast_biased, 2e-6);
  expect_op({"QuickGelu", kDomain, 1}, {x}, x.dims(), quick, 2e-6);
  expect_op({"Swish", "", 24, {attribute("alpha", 1.702f)}}, {x}, x.dims(), quick, 2e-6);
  expect_error({"BiasGelu", kDomain, 1}, {x}, "input 1 is missing");
  expect_error({"FastGelu", kDomain, 1}, {x, random_floats({3})}, "must be [37]");
  expect_error({"FastGelu", kDomain, 1}, {floats({}, {1})}, "rank 0");
}

std::vector<double> product(const ir::Tensor& a, const ir::Tensor& b, bool turn_a, bool turn_b, const ir::Shape& out) {
  const auto rank = static_cast<size_t>(a.rank());
  const int64_t inner = a.dims()[turn_a ? rank - 2 : rank - 1];
  std::vector<double> sums;
  for_each_index(out, [&](const ir::Shape& i) {
    double sum = 0;
    for (int64_t k = 0; k < inner; ++k) {
      ir::Shape left = i, right = i;
      left[i.size() - 1] = k;
      right[i.size() - 2] = k;
      if (turn_a) std::swap(left[i.size() - 1], left[i.size() - 2]);
      if (turn_b) std::swap(right[i.size() - 1], right[i.size() - 2]);
      sum += at(a, left) * at(b, right);
    }
    sums.push_back(0.5 * sum);
  });
  return sums;
}

TEST(FusedTest, MatMulTransposedScaledAndBroadcast) {
  for (const bool turn_a : {false, true}) {
    for (const bool turn_b : {false, true}) {
      for (const int64_t size : {5, 40}) {  // by plain loops, and by the library
        const ir::Shape out = {2, 3, size, size + 2};
        const auto matrix = [](ir::Shape batch, int64_t rows, int64_t columns, bool turned) {
          batch.insert(batch.end(), {turned ? columns : rows, turned ? rows : columns});
          return batch;
        };
        const ir::Tensor a = random_floats(matrix({2, 1}, size, size + 1, turn_a), -1, 1);
        const std::vector<ir::Attribute> attributes = {attribute("transA", int64_t{turn_a}),
                                                       attribute("transB", int64_t{turn_b}), attribute("alpha", 0.5f)};
        const ir::Tensor b = random_floats(matrix({3}, size + 1, size + 2, turn_b), -1, 1, 2);
        const auto found = run_op({"FusedMatMul", kDomain, 1, attributes}, {a, b});
        ASSERT_TRUE(found.ok()) << found.status().message();
        EXPECT_EQ(found.value()[0].dims(), out);
        if (size == 5) expect_near(found.value()[0], product(a, b, turn_a, turn_b, out), 1e-5);
        const ir::Tensor one = random_floats(matrix({}, size + 1, size + 2, turn_b), -1, 1, 2);
        const ir::Shape small = {2, 1, size, size + 2};
        expect_op({"FusedMatMul", kDomain, 1, attributes}, {a, one}, small, product(a, one, turn_a, turn_b, small),
                  1e-5);
      }
    }
  }
}

TEST(FusedTest, MatMulRejectsWhatDoesNotFit) {
  const ir::Tensor a = random_floats({2, 3}), b = random_floats({4, 2});
  expect_error({"FusedMatMul", kDomain, 1}, {a, b}, "inner dimensions differ");
  expect_error({"FusedMatMul", kDomain, 1}, {a, random_floats({3})}, "rank 2");
  expect_error({"FusedMatMul", kDomain, 1}, {a, as_type(b, ElementType::kFloat16)}, "input 1 is FLOAT16");
  expect_error({"FusedMatMul", kDomain, 1, {attribute("transBatchA", int64_t{1})}}, {a, b}, "transBatchA is 1");
  expect_error({"FusedMatMul", kDomain, 1}, {random_floats({2, 1, 3}), random_floats({3, 3, 1})}, "broadcast");
}

}  // namespace
}  // namespace quarkq::test
