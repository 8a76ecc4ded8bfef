// SPDX-License-Identifier: MIT
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

/// Mean and variance of x over the dimensions where `over` is set, seen from `index`.
std::pair<double, double> moments(const ir::Tensor& x, const ir::Shape& index, const std::vector<bool>& over) {
  double sum = 0, squares = 0, count = 0;
  for_each_index(x.dims(), [&](const ir::Shape& other) {
    for (size_t d = 0; d < over.size(); ++d) {
      if (!over[d] && other[d] != index[d]) return;
    }
    const double v = at(x, other);
    sum += v;
    squares += v * v;
    ++count;
  });
  const double mean = sum / count;
  return {mean, squares / count - mean * mean};
}

TEST(NormTest, BatchNormalizationUsesStoredStatistics) {
  const ir::Tensor x = random_floats({2, 3, 4, 5}), scale = floats({3}, {1, 2, -1}), bias = floats({3}, {0, 1, 2}),
                   mean = floats({3}, {0.1f, -0.2f, 0.3f}), variance = floats({3}, {1, 0.5f, 2});
  std::vector<double> expected;
  for_each_index(x.dims(), [&](const ir::Shape& i) {
    const ir::Shape c = {i[1]};
    expected.push_back((at(x, i) - at(mean, c)) / std::sqrt(at(variance, c) + 1e-3) * at(scale, c) + at(bias, c));
  });
  const std::vector attributes = {attribute("epsilon", 1e-3f)};
  expect_op({"BatchNormalization", "", 15, attributes}, {x, scale, bias, mean, variance}, x.dims(), expected);
  expect_op({"BatchNormalization", "", 7, attributes}, {x, scale, bias, mean, variance}, x.dims(), expected);
  expect_op({"BatchNormalization", "", 15, attributes},
            {as_type(x, ElementType::kFloat16), scale, bias, mean, variance}, x.dims(), expected, 1e-2);
  expect_error({"BatchNormalization", "", 15}, {x, scale, bias, mean, floats({2}, {1, 1})}, "must be [3]");
  expect_error({"BatchNormalization", "", 15, {}, 3}, {x, scale, bias, mean, variance}, "output 1");
}

TEST(NormTest, SoftmaxOverEveryAxis) {
  const ir::Tensor x = random_floats({2, 3, 4, 70}, -5, 5);
  for (int64_t a = -4; a < 4; ++a) {
    std::vector<double> expected, logs;
    const auto d = static_cast<size_t>(a < 0 ? a + 4 : a);
    const auto v = values(x);
    const auto strides = std::vector<int64_t>{840, 280, 70, 1};
    for_each_index(x.dims(), [&](const ir::Shape& i) {
      int64_t base = 0;
      for (size_t k = 0; k < 4; ++k) base += k == d ? 0 : i[k] * strides[k];
      double sum = 0;
      for (int64_t k = 0; k < x.dims()[d]; ++k) sum += std::exp(v[static_cast<size_t>(base + k * strides[d])]);
      const double own = v[static_cast<size_t>(base + i[d] * strides[d])];
      expected.push_back(std::exp(own) / sum);
      logs.push_back(own - std::log(sum));
    });
    expect_op({"Softmax", "", 13, {attribute("axis", a)}}, {x}, x.dims(), expected);
    expect_op({"LogSoftmax", "", 13, {attribute("axis", a)}}, {x}, x.dims(), logs, 2e-6);
  }
  expect_error({"Softmax", "", 13, {attribute("axis", int64_t{4})}}, {x}, "outside");
}

TEST(NormTest, OldSoftmaxFlattens) {
  const ir::Tensor x = random_floats({2, 3, 4});
  const auto v = values(x);
  std::vector<double> expected;
  for (size_t i = 0; i < 24; ++i) {
    double sum = 0;
    for (size_t k = 0; k < 12; ++k) sum += std::exp(v[i / 12 * 12 + k]);
    expected.push_back(std::exp(v[i]) / sum);
  }
  expect_op({"Softmax", "", 11}, {x}, x.dims(), expected);
}

TEST(NormTest, SoftmaxOfLargeValuesDoesNotOverflow) {
  expect_op({"Softmax"}, {floats({1, 2}, {1000, 1000})}, {1, 2}, {0.5, 0.5});
  expect_op({"LogSoftmax"}, {floats({1, 2}, {-1000, 0})}, {1, 2}, {-1000, 0});
}

TEST(NormTest, InstanceNormalization) {
  for (const int64_t channels : {int64_t{3}, int64_t{70}}) {
    const ir::Tensor x = random_floats({2, channels, 3, 4}, -1, 5), scale = random_floats({channels}, 0.5f, 2, 3),
                     bias = random_floats({channels}, -1, 1, 4);
    std::vector<double> expected;
    for_each_index(x.dims(), [&](const ir::Shape& i) {
      if (channels == 70 && !expected.empty() && i[1] > 2) return expected.push_back(NAN);
      const auto [mean, variance] = moments(x, i, {false, false, true, true});
      expected.push_back((at(x, i) - mean) / std::sqrt(variance + 1e-5) * at(scale, {i[1]}) + at(bias, {i[1]}));
    });
    for (const exec::Layout layout : {exec::Layout::kPlain, exec::Layout::kChannelsLast}) {
      const auto found = values(run_op({"InstanceNormalization", "", 6, {}, 1, layout}, {x, scale, bias}).value()[0]);
      for (size_t i = 0; i < found.size(); ++i) {
        if (std::isnan(expected[i])) continue;
        ASSERT_NEAR(found[i], expected[i], 1e-5) << i;
      }
    }
  }
}

TEST(NormTest, LayerNormalizationAndItsStatistics) {
  const ir::Tensor x = random_floats({2, 3, 40}), scale = random_floats({40}, 0.5f, 2, 3),
                   bias = random_floats({40}, -1, 1, 4);
  std::vector<double> expected;
  for_each_index(x.dims(), [&](const ir::Shape& i) {
    const auto [mean, variance] = moments(x, i, {false, false, true});
    expected.push_back((at(x, i) - mean) / std::sqrt(variance + 1e-5) * at(scale, {i[2]}) + at(bias, {i[2]}));
  });
  OpCall call{"LayerNormalization", "", 17, {}, 3};
  expect_op(call, {x, scale, bias}, x.dims(), expected, 1e-5);
  const auto result = run_op(call, {x, scale, bias});
  EXPECT_EQ(result.value()[1].dims(), (ir::Shape{2, 3, 1}));
  EXPECT_NEAR(values(result.value()[1])[0], moments(x, {0, 0, 0}, {false, false, true}).first, 1e-6);
  expect_error(call, {x, floats({3}, {1, 1, 1})}, "input 1");
}

TEST(NormTest, LpNormalizationAndLrn) {
  expect_op({"LpNormalization"}, {floats({2, 2}, {3, 4, 0, 0})}, {2, 2}, {0.6, 0.8, 0, 0});
  expect_op({"LpNormalization", "", 1, {attribute("axis", int64_t{0}), attribute("p", int64_t{1})}},
            {floats({2, 2}, {3, 4, 1, -4})}, {2, 2}, {0.75, 0.5, 0.25, -0.5});
  const ir::Tensor x = random_floats({2, 6, 3, 2});
  std::vector<double> expected;
  for_each_index(x.dims(), [&](const ir::Shape& i) {
    double squares = 0;
    for (int64_t c = std::max<int64_t>(0, i[1] - 1); c <= std::min<int64_t>(5, i[1] + 1); ++c) {
      squares += std::pow(at(x, {i[0], c, i[2], i[3]}), 2);
    }
    expected.push_back(at(x, i) / std::pow(2 + 0.3 / 3 * squares, 0.75));
  });
  expect_op({"LRN", "", 13, {attribute("size", int64_t{3}), attribute("alpha", 0.3f), attribute("bias", 2.0f)}}, {x},
            x.dims(), expected);
  expect_error({"LRN"}, {x}, "size is 0");
}

}  // namespace
}  // namespace quarkq::test
