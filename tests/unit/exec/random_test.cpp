// SPDX-License-Identifier: MIT
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

const ir::Attribute kMany = attribute("shape", std::vector<int64_t>{100, 201});

std::vector<double> drawn(const OpCall& call, const std::vector<ir::Tensor>& inputs = {}) {
  const auto found = run_op(call, inputs);
  EXPECT_TRUE(found.ok()) << found.status().message();
  return found.ok() ? values(found.value()[0]) : std::vector<double>();
}

TEST(RandomTest, MomentsAreThoseAskedFor) {
  const auto uniform = drawn({"RandomUniform", "", 22, {kMany, attribute("low", -1.0f), attribute("high", 3.0f)}});
  const auto normal = drawn({"RandomNormal", "", 22, {kMany, attribute("mean", 2.0f), attribute("scale", 0.5f)}});
  ASSERT_EQ(uniform.size(), 20100u);
  ASSERT_EQ(normal.size(), 20100u);
  double uniform_sum = 0, sum = 0, squares = 0;
  for (size_t i = 0; i < normal.size(); ++i) {
    EXPECT_GE(uniform[i], -1);
    EXPECT_LT(uniform[i], 3);
    uniform_sum += uniform[i];
    sum += normal[i];
    squares += (normal[i] - 2) * (normal[i] - 2);
  }
  EXPECT_NEAR(uniform_sum / 20100, 1, 0.05);
  EXPECT_NEAR(sum / 20100, 2, 0.02);
  EXPECT_NEAR(std::sqrt(squares / 20100), 0.5, 0.02);
}

TEST(RandomTest, TheSeedDecides) {
  const OpCall plain{"RandomNormal", "", 22, {kMany}};
  OpCall seeded = plain;
  seeded.attributes.push_back(attribute("seed", 1.5f));
  EXPECT_EQ(drawn(plain), drawn(plain));
  EXPECT_EQ(drawn(seeded), drawn(seeded));
  EXPECT_NE(drawn(plain), drawn(seeded));
  OpCall zero = plain;
  zero.attributes.push_back(attribute("seed", 0.0f));
  EXPECT_EQ(drawn(plain), drawn(zero));
}

TEST(RandomTest, LikeAnotherTensor) {
  const ir::Tensor x = as_type(random_floats({3, 5}), ElementType::kFloat16);
  for (const char* op : {"RandomUniformLike", "RandomNormalLike"}) {
    const auto same = run_op({op, "", 22}, {x});
    ASSERT_TRUE(same.ok()) << same.status().message();
    EXPECT_EQ(same.value()[0].type(), ElementType::kFloat16);
    EXPECT_EQ(same.value()[0].dims(), x.dims());
    const auto doubles = run_op({op, "", 22, {number("dtype", 11)}}, {ints({2}, {1, 2})});
    EXPECT_EQ(doubles.value()[0].type(), ElementType::kDouble);
    expect_error({op, "", 22}, {ints({2}, {1, 2})}, "makes INT64");
    expect_error({op, "", 22, {number("dtype", 99)}}, {x}, "dtype is 99");
  }
  expect_error({"RandomNormal", "", 22}, {}, "shape is missing");
  expect_error({"RandomNormal", "", 22, {attribute("shape", std::vector<int64_t>{-1})}}, {}, "n");
  expect_error({"RandomNormal", "", 22, {attribute("shape", std::vector<int64_t>{int64_t{1} << 40, int64_t{1} << 40})}},
               {}, "n");
}

TEST(MultinomialTest, FollowsTheWeights) {
  const float never = -INFINITY;
  const ir::Tensor x = floats({2, 3}, {0, std::log(3.0f), never, never, never, 5});
  const auto found = drawn({"Multinomial", "", 22, {number("sample_size", 4000), number("dtype", 7)}}, {x});
  ASSERT_EQ(found.size(), 8000u);
  EXPECT_NEAR(static_cast<double>(std::count(found.begin(), found.begin() + 4000, 1.0)), 3000, 120);
  EXPECT_EQ(std::count(found.begin(), found.begin() + 4000, 2.0), 0);
  EXPECT_EQ(std::count(found.begin() + 4000, found.end(), 2.0), 4000);
  expect_error({"Multinomial", "", 22, {number("sample_size", 0)}}, {x}, "sample_size is 0");
  expect_error({"Multinomial", "", 22, {number("dtype", 1)}}, {x}, "makes FLOAT");
  expect_error({"Multinomial", "", 22}, {random_floats({3})}, "must be [rows, classes]");
  expect_error({"Multinomial", "", 22}, {ir::Tensor::zeros(ElementType::kFloat, {2, 0})}, "must be [rows, classes]");
  const auto broken = drawn({"Multinomial", "", 22, {number("sample_size", 9)}}, {floats({1, 2}, {NAN, NAN})});
  for (const double index : broken) EXPECT_TRUE(index == 0 || index == 1);
}

}  // namespace
}  // namespace quarkq::test
