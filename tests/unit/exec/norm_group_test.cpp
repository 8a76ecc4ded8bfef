// SPDX-License-Identifier: MIT
// GroupNormalization, MeanVarianceNormalization, RMSNormalization, SkipLayerNormalization, Hardmax, and
// BatchNormalization in training mode.
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

/// Mean and variance of the elements of x that `chosen` picks by index.
template <typename Chosen>
std::pair<double, double> group_moments(const ir::Tensor& x, const Chosen& chosen) {
  double sum = 0, squares = 0, count = 0;
  for_each_index(x.dims(), [&](const ir::Shape& i) {
    if (!chosen(i)) return;
    sum += at(x, i);
    squares += at(x, i) * at(x, i);
    ++count;
  });
  return {sum / count, squares / count - sum / count * sum / count};
}

TEST(GroupNormTest, BothFormsInBothLayouts) {
  for (const int64_t channels : {6, 72}) {
    const ir::Tensor x = random_floats({2, channels, 3, 2}, -1, 4), scale = random_floats({channels}, 0.5f, 2, 3),
                     bias = random_floats({channels}, -1, 1, 4);
    const ir::Tensor group_scale = random_floats({3}, 0.5f, 2, 5), group_bias = random_floats({3}, -1, 1, 6);
    const int64_t width = channels / 3;
    std::vector<double> by_channel, by_group;
    double cached[2][3][2];
    for (int64_t n = 0; n < 2; ++n) {
      for (int64_t g = 0; g < 3; ++g) {
        const auto [mean, variance] =
            group_moments(x, [&](const ir::Shape& i) { return i[0] == n && i[1] / width == g; });
        cached[n][g][0] = mean;
        cached[n][g][1] = std::sqrt(variance + 1e-5);
      }
    }
    for_each_index(x.dims(), [&](const ir::Shape& i) {
      const auto& m = cached[i[0]][i[1] / width];
      const double y = (at(x, i) - m[0]) / m[1];
      by_channel.push_back(y * at(scale, {i[1]}) + at(bias, {i[1]}));
      by_group.push_back(y * at(group_scale, {i[1] / width}) + at(group_bias, {i[1] / width}));
    });
    const std::vector attributes = {number("num_groups", 3)};
    expect_op({"GroupNormalization", "", 21, attributes}, {x, scale, bias}, x.dims(), by_channel, 1e-5);
    expect_op({"GroupNormalization", "", 18, attributes}, {x, group_scale, group_bias}, x.dims(), by_group, 1e-5);
    expect_op({"GroupNormalization", "", 21, attributes}, {as_type(x, ElementType::kFloat16), scale, bias}, x.dims(),
              by_channel, 1e-2);
  }
}

TEST(GroupNormTest, RejectsWhatDoesNotFit) {
  const ir::Tensor x = random_floats({1, 4, 2}), four = random_floats({4}), two = random_floats({2});
  expect_error({"GroupNormalization", "", 21}, {x, four, four}, "num_groups is 0");
  expect_error({"GroupNormalization", "", 21, {number("num_groups", 3)}}, {x, four, four}, "must divide 4");
  expect_error({"GroupNormalization", "", 21, {number("num_groups", 2)}}, {x, two, two}, "must be [4]");
  expect_error({"GroupNormalization", "", 18, {number("num_groups", 2)}}, {x, four, four}, "must be [2]");
  expect_error({"GroupNormalization", "", 21, {number("num_groups", 1)}}, {two, two, two}, "rank 1");
  expect_op({"GroupNormalization", "", 21, {number("num_groups", 2)}},
            {ir::Tensor::zeros(ElementType::kFloat, {0, 4, 2}), four, four}, {0, 4, 2}, {});
}

TEST(MeanVarianceNormTest, DefaultAndChosenAxes) {
  const ir::Tensor x = random_floats({2, 3, 2, 4});
  std::vector<double> by_channel, by_image;
  for_each_index(x.dims(), [&](const ir::Shape& i) {
    const auto [mean, variance] = group_moments(x, [&](const ir::Shape& k) { return k[1] == i[1]; });
    by_channel.push_back((at(x, i) - mean) / std::sqrt(variance));
    const auto [mean2, variance2] = group_moments(x, [&](const ir::Shape& k) { return k[0] == i[0]; });
    by_image.push_back((at(x, i) - mean2) / std::sqrt(variance2));
  });
  expect_op({"MeanVarianceNormalization", "", 13}, {x}, x.dims(), by_channel, 1e-5);
  expect_op({"MeanVarianceNormalization", "", 13, {attribute("axes", std::vector<int64_t>{1, -1, 2})}}, {x}, x.dims(),
            by_image, 1e-5);
  expect_op({"MeanVarianceNormalization", "", 13}, {floats({1, 1, 1, 2}, {3, 3})}, {1, 1, 1, 2}, {0, 0});
  expect_error({"MeanVarianceNormalization", "", 13}, {random_floats({2, 2})}, "outside");
}

TEST(RmsNormTest, AnyAxisAndScale) {
  const ir::Tensor x = random_floats({2, 3, 20}), scale = random_floats({20}, 0.5f, 2, 3);
  std::vector<double> expected;
  for_each_index(x.dims(), [&](const ir::Shape& i) {
    double squares = 0;
    for (int64_t k = 0; k < 20; ++k) squares += at(x, {i[0], i[1], k}) * at(x, {i[0], i[1], k});
    expected.push_back(at(x, i) / std::sqrt(squares / 20 + 1e-5) * at(scale, {i[2]}));
  });
  expect_op({"RMSNormalization", "", 23}, {x, scale}, x.dims(), expected, 1e-5);
  expect_op({"RMSNormalization", "", 23, {number("axis", 0), attribute("epsilon", 0.0f)}},
            {floats({2, 1}, {3, 4}), floats({1}, {2})}, {2, 1}, {6 / std::sqrt(12.5), 8 / std::sqrt(12.5)});
  expect_error({"RMSNormalization", "", 23}, {x, random_floats({3})}, "scale is [3]");
  expect_error({"RMSNormalization", "", 23, {number("axis", 3)}}, {x, scale}, "outside");
}

TEST(SkipLayerNormTest, AddsThenNormalizes) {
  const ir::Tensor x = floats({1, 1, 3}, {1, 2, 4}), skip = floats({1, 1, 3}, {0, 1, 0});
  OpCall call{"SkipLayerNormalization", "com.microsoft", 1, {attribute("epsilon", 1e-5f)}, 4};
  const auto found = run_op({"SkipLayerNormalization", "com.microsoft", 1, call.attributes, 1},
                            {x, skip, floats({3}, {1, 2, 1}), floats({3}, {0, 0, 1}), floats({3}, {1, 0, 0})});
  ASSERT_TRUE(found.ok()) << found.status().message();
  expect_near(found.value()[0], {-1.22474, 0, 2.22474}, 1e-5);
  expect_error(call, {x, skip, floats({3}, {1, 2, 1})}, "which only training supports");
  call.outputs = 1;
  expect_error(call, {x, random_floats({1, 3, 1}), floats({3}, {1, 2, 1})}, "does not fit");
  expect_error(call, {x, skip, floats({2}, {1, 2})}, "must be [3]");
}

TEST(HardmaxTest, FirstOfTheLargest) {
  const ir::Tensor x = floats({2, 3}, {1, 3, 3, 5, 4, 4});
  expect_op({"Hardmax", "", 13}, {x}, {2, 3}, {0, 1, 0, 1, 0, 0});
  expect_op({"Hardmax", "", 13, {number("axis", 0)}}, {x}, {2, 3}, {0, 0, 0, 1, 1, 1});
  expect_op({"Hardmax", "", 11, {number("axis", 0)}}, {x}, {2, 3}, {0, 0, 0, 1, 0, 0});
  expect_op({"Hardmax", "", 13}, {ir::Tensor::zeros(ElementType::kFloat, {2, 0})}, {2, 0}, {});
  expect_error({"Hardmax", "", 13, {number("axis", 2)}}, {x}, "outside");
}

TEST(BatchNormTrainingTest, MovesTheStatistics) {
  const ir::Tensor x = floats({2, 1, 2}, {1, 2, 3, 6}), one = floats({1}, {1}), zero = floats({1}, {0});
  const double deviation = std::sqrt(3.5 + 1e-5);
  const OpCall call{"BatchNormalization", "", 15, {number("training_mode", 1), attribute("momentum", 0.5f)}, 3};
  for (const exec::Layout layout : {exec::Layout::kPlain, exec::Layout::kChannelsLast}) {
    OpCall own = call;
    own.layout = layout;
    const auto found = run_op(own, {x, one, zero, zero, one});
    ASSERT_TRUE(found.ok()) << found.status().message();
    expect_near(found.value()[0], {-2 / deviation, -1 / deviation, 0, 3 / deviation}, 1e-6);
    expect_near(found.value()[1], {1.5}, 1e-6);
    expect_near(found.value()[2], {2.25}, 1e-6);
  }
  expect_error({"BatchNormalization", "", 6}, {x, one, zero, zero, one}, "training mode");
  expect_op({"BatchNormalization", "", 6, {number("is_test", 1), attribute("epsilon", 0.0f)}}, {x, one, zero, one, one},
            {2, 1, 2}, {0, 1, 2, 5});
}

}  // namespace
}  // namespace quarkq::test
