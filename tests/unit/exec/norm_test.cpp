// SPDX-License-Identifier: MIT
#include "support/op_checks.h"
#include "support/random_draws.h"

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

class RandomNormTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  ir::Tensor scaled(const ir::Tensor& x, float factor, float offset) {
    std::vector<float> all;
    for (const double value : values(x)) all.push_back(static_cast<float>(value) * factor + offset);
    return floats(x.dims(), all);
  }
  Draws draws_{GetParam() + 60};
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomNormTest, ::testing::Range(1u, 13u));

/// What is normalized does not know the unit nor the origin of its input.
TEST_P(RandomNormTest, UnitAndOriginDoNotMatter) {
  const int64_t channels = draws_.integer(1, 5);
  const ir::Tensor x = draws_.tensor({draws_.integer(1, 2), channels, draws_.integer(2, 6), draws_.integer(4, 9)});
  const ir::Tensor scale = draws_.tensor({channels}), bias = draws_.tensor({channels});
  const ir::Tensor row_scale = draws_.tensor({x.dims()[3]}), row_bias = draws_.tensor({x.dims()[3]});
  struct Row {
    OpCall call;
    std::vector<ir::Tensor> inputs;
  };
  const ir::Attribute epsilon = attribute("epsilon", 0.0f);
  const Row rows[] = {{{"InstanceNormalization", "", 6, {epsilon}}, {scale, bias}},
                      {{"LayerNormalization", "", 17, {epsilon}}, {row_scale, row_bias}},
                      {{"MeanVarianceNormalization", "", 13, {attribute("axes", std::vector<int64_t>{2, 3})}}, {}}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.call.op);
    const auto run = [&](const ir::Tensor& input) {
      std::vector<ir::Tensor> inputs = {input};
      inputs.insert(inputs.end(), row.inputs.begin(), row.inputs.end());
      const auto found = run_op(row.call, inputs);
      EXPECT_TRUE(found.ok()) << found.status().message();
      return found.ok() ? values(found.value()[0]) : std::vector<double>{};
    };
    const std::vector<double> once = run(x);
    for (const auto& [factor, offset] : {std::pair(4.0f, 0.0f), std::pair(0.25f, 2.0f), std::pair(1.0f, -30.0f)}) {
      const std::vector<double> again = run(scaled(x, factor, offset));
      ASSERT_EQ(again.size(), once.size());
      for (size_t i = 0; i < once.size(); ++i) ASSERT_NEAR(again[i], once[i], 2e-3) << factor << " " << offset;
    }
    const std::vector<double> turned = run(scaled(x, -1, 0));
    const std::vector<double> zero = run(scaled(x, 1, 0));
    EXPECT_EQ(zero, once) << "the same input gives the same bytes";
    if (row.inputs.empty()) {
      for (size_t i = 0; i < once.size(); ++i) ASSERT_NEAR(turned[i], -once[i], 1e-4);
    }
  }
}

TEST_P(RandomNormTest, NormalizedValuesHaveMeanZeroAndVarianceOne) {
  const ir::Tensor x = draws_.tensor({draws_.integer(1, 3), draws_.integer(1, 4), draws_.integer(4, 40)}, -9, 5);
  const int64_t length = x.dims()[2];
  const ir::Tensor ones = floats({length}, std::vector<float>(static_cast<size_t>(length), 1));
  const auto found = run_op({"LayerNormalization", "", 17, {number("axis", -1)}}, {x, ones});
  ASSERT_TRUE(found.ok()) << found.status().message();
  const std::vector<double> y = values(found.value()[0]);
  for (size_t row = 0; row < y.size(); row += static_cast<size_t>(length)) {
    double sum = 0, squares = 0;
    for (size_t i = row; i < row + static_cast<size_t>(length); ++i) {
      sum += y[i];
      squares += y[i] * y[i];
    }
    EXPECT_NEAR(sum / static_cast<double>(length), 0, 1e-5);
    EXPECT_NEAR(squares / static_cast<double>(length), 1, 1e-3);
  }
}

/// Softmax is a distribution that keeps the order, and does not see an offset.
TEST_P(RandomNormTest, SoftmaxIsADistribution) {
  const ir::Tensor x = draws_.tensor({draws_.integer(1, 6), draws_.integer(1, 40)}, -20, 20);
  const auto found = run_op({"Softmax", "", 13}, {x}), moved = run_op({"Softmax", "", 13}, {scaled(x, 1, 64)});
  ASSERT_TRUE(found.ok() && moved.ok());
  const std::vector<double> xs = values(x), y = values(found.value()[0]), z = values(moved.value()[0]);
  const auto width = static_cast<size_t>(x.dims()[1]);
  for (size_t row = 0; row < y.size(); row += width) {
    double sum = 0;
    for (size_t i = row; i < row + width; ++i) {
      EXPECT_GE(y[i], 0);
      EXPECT_NEAR(z[i], y[i], 1e-4);
      EXPECT_TRUE(i == row || y[i] == y[i - 1] || (xs[i] >= xs[i - 1]) == (y[i] >= y[i - 1]));
      sum += y[i];
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

}  // namespace
}  // namespace quarkq::test
