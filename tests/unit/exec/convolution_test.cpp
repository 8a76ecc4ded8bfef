// SPDX-License-Identifier: MIT
// The two forms of a convolution compute the same, for every kind of window, with followers and with weights of each
// call.
#include "exec/convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "base/random.h"
#include "exec/kernels/elementwise/unary_loops.h"
#include "exec/kernels/shared/support.h"
#include "support/conv_problems.h"

namespace quarkq::exec {
namespace {

struct Operands {
  std::vector<float> source, weights, bias, added;
};

std::vector<float> results_of(Convolution& convolution, const ConvProblem& p, const Operands& operands,
                              bool knows_weights) {
  const float* const added[] = {operands.added.data()};
  return test::results_of(convolution, p,
                          {.source = operands.source.data(),
                           .weights = knows_weights ? nullptr : operands.weights.data(),
                           .bias = p.has_bias ? operands.bias.data() : nullptr,
                           .added = added});
}

class ConvolutionTest : public testing::Test {
 protected:
  std::vector<float> values(int64_t size) {
    std::vector<float> drawn(static_cast<size_t>(size));
    for (float& value : drawn) value = static_cast<float>(random_.uniform() * 2 - 1);
    return drawn;
  }

  /// Returns a problem that the direct form computes, or nullopt if the drawn window does not fit.
  std::optional<ConvProblem> draw(size_t axes) {
    const int64_t in = random_.integer(1, 40), out = random_.integer(1, random_.integer(0, 2) == 0 ? 5 : 150);
    ConvProblem p = test::conv_of_channels(random_.integer(1, 3), in, out);
    p.has_bias = random_.integer(0, 2) == 0;
    for (size_t i = 0; i < axes; ++i) {
      const int64_t kernel = random_.integer(1, 6), dilation = random_.integer(1, 3), size = random_.integer(3, 24);
      const int64_t begin = random_.integer(0, kernel), end = random_.integer(0, kernel);
      if (!test::add_axis(p, {size, kernel, random_.integer(1, 4), dilation, begin, end})) return {};
    }
    return takes_direct(p) ? std::optional(p) : std::nullopt;
  }

  Operands operands_of(const ConvProblem& p) {
    return {values(product(p.source)), values(product(p.weights)), values(p.result[1]), values(product(p.result))};
  }

 private:
  NumpyRandom random_{23};
};

void expect_near(const std::vector<float>& a, const std::vector<float>& b, const ConvProblem& p) {
  ASSERT_EQ(a.size(), b.size());
  const double bound = 1e-5 * std::sqrt(static_cast<double>(product(p.weights))) + 1e-6;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], bound) << i << " of source " << testing::PrintToString(p.source) << ", weights "
                                   << testing::PrintToString(p.weights);
  }
}

TEST_F(ConvolutionTest, BothFormsAgree) {
  for (const size_t axes : {1u, 2u, 3u}) {
    int compared = 0;
    for (int i = 0; i < 120; ++i) {
      const std::optional<ConvProblem> p = draw(axes);
      if (!p) continue;
      ++compared;
      const Operands operands = operands_of(*p);
      const auto theirs = onednn_convolution(*p, operands.weights.data());
      ASSERT_TRUE(theirs.ok()) << theirs.status().message();
      const std::vector<float> wanted = results_of(*theirs.value(), *p, operands, true);
      const std::vector<float> found = results_of(*direct_convolution(*p, operands.weights.data()), *p, operands, true);
      ASSERT_NO_FATAL_FAILURE(expect_near(found, wanted, *p));
      EXPECT_EQ(results_of(*direct_convolution(*p, nullptr), *p, operands, false), found);
    }
    EXPECT_GT(compared, 40) << axes;
  }
}

TEST_F(ConvolutionTest, FollowersChangeNoBits) {
  for (int i = 0; i < 60; ++i) {
    std::optional<ConvProblem> p = draw(2);
    if (!p) continue;
    const Operands operands = operands_of(*p);
    std::vector<float> wanted = results_of(*direct_convolution(*p, operands.weights.data()), *p, operands, true);
    PostOp clip, leaky, add;
    clip.low = -0.5f;
    clip.high = 1.5f;
    leaky.kind = PostOp::Kind::kLeakyRelu;
    leaky.slope = 0.1f;
    add.kind = PostOp::Kind::kAdd;
    p->post_ops = {leaky, add, clip};
    const auto size = static_cast<int64_t>(wanted.size());
    QQ_DISPATCH(exec, unary_loop)({Unary::kLeakyRelu, 0.1f, 0}, wanted.data(), wanted.data(), size);
    for (size_t k = 0; k < wanted.size(); ++k) wanted[k] += operands.added[k];
    QQ_DISPATCH(exec, unary_loop)({Unary::kClip, -0.5f, 1.5f}, wanted.data(), wanted.data(), size);
    EXPECT_EQ(results_of(*direct_convolution(*p, operands.weights.data()), *p, operands, true), wanted);
  }
}

/// Weights of a product are [k, n] or its transpose; here those of a 2x1 kernel.
TEST_F(ConvolutionTest, WeightsMayHaveStrides) {
  ConvProblem p = test::conv_of_channels(1, 20, 33);
  ASSERT_TRUE(test::add_axis(p, {9, 2, 1, 1, 0, 0}) && test::add_axis(p, {1, 1, 1, 1, 0, 0}));
  ASSERT_TRUE(takes_direct(p));
  Operands operands = operands_of(p);
  const std::vector<float> wanted = results_of(*direct_convolution(p, operands.weights.data()), p, operands, true);
  std::vector<float> turned(operands.weights.size());  // [taps, inputs, outputs]
  for (size_t o = 0; o < 33; ++o) {
    for (size_t k = 0; k < 40; ++k) turned[(k % 2 * 20 + k / 2) * 33 + o] = operands.weights[o * 40 + k];
  }
  operands.weights = turned;
  p.weight_strides = {1, 33, 20 * 33, 1};
  EXPECT_EQ(results_of(*direct_convolution(p, turned.data()), p, operands, true), wanted);
}

TEST_F(ConvolutionTest, RefusesWhatTheDirectFormDoesNotCompute) {
  ConvProblem p = test::conv_of_channels(1, 4, 8);
  ASSERT_TRUE(test::add_axis(p, {8, 3, 1, 1, 1, 1}) && test::add_axis(p, {8, 3, 1, 1, 1, 1}));
  EXPECT_TRUE(takes_direct(p));
  ConvProblem grouped = p, transposed = p, point = p, wide = p;
  grouped.groups = 2;
  transposed.transposed = true;
  point.weights = {8, 4, 1, 1};
  wide.pads_begin = wide.pads_end = {1 << 20, 1 << 20};
  wide.result = {1, 8, 1 << 21, 1 << 21};
  EXPECT_FALSE(takes_direct(grouped));
  EXPECT_FALSE(takes_direct(transposed));
  EXPECT_FALSE(takes_direct(point));
  EXPECT_FALSE(takes_direct(wide));
}

}  // namespace
}  // namespace quarkq::exec
