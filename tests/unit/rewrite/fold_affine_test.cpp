// SPDX-License-Identifier: MIT
// A factor and an offset per channel folded into layers: for random layers the outputs are those of the layer followed
// by the affine function, weights that others read stay, and what cannot hold the fold is told apart.
#include "rewrite/fold_affine.h"

#include "support/pass_support.h"

namespace quarkq::rewrite {
namespace {

struct FoldCase {
  const char* name;
  const char* inputs;  ///< dimensions of x
  const char* weight;  ///< dimensions of w
  int64_t channels;    ///< 0: the layer takes no fold
  const char* node;    ///< reads x, w and perhaps b
};

const FoldCase kCases[] = {
    {"conv", "1,3,5,5", "4,3,3,3", 4, "y = Conv (x, w, b)"},
    {"conv without bias", "1,3,5,5", "4,3,1,1", 4, "y = Conv (x, w)"},
    {"depthwise", "1,4,5,5", "4,1,3,3", 4, "y = Conv <group = 4> (x, w, b)"},
    {"conv1d", "1,3,7", "5,3,2", 5, "y = Conv (x, w, b)"},
    {"transposed", "1,3,4,4", "3,5,2,2", 5, "y = ConvTranspose <strides = [2, 2]> (x, w, b)"},
    {"transposed groups", "1,4,4,4", "4,2,2,2", 0, "y = ConvTranspose <group = 2> (x, w)"},
    {"gemm", "2,6", "6,4", 4, "y = Gemm (x, w, b)"},
    {"gemm turned", "2,6", "4,6", 4, "y = Gemm <transB = 1> (x, w, b)"},
    {"gemm scaled", "2,6", "6,4", 0, "y = Gemm <alpha = 2.0> (x, w, b)"},
    {"gemm with beta", "2,6", "6,4", 0, "y = Gemm <beta = 0.5> (x, w, b)"},
    {"matmul", "2,6", "6,4", 0, "y = MatMul (x, w)"},
    {"computed weight", "4,6", "6,4", 0, "y = Gemm (w, x)"},
};

int64_t count_of(const std::string& dims) {
  int64_t count = 1;
  for (const std::string& dim : split(dims, ',')) count *= std::stoll(dim);
  return count;
}

ir::Model fold_model(const FoldCase& c, const std::string& more = "", const std::string& outputs = "float[] y") {
  const int64_t channels = std::max<int64_t>(c.channels, 4);
  return test::model_of(cat("g (float[", c.inputs, "] x) => (", outputs, ") <float[", c.weight,
                            "] w = ", test::numbers(static_cast<size_t>(count_of(c.weight)), 1), ", float[", channels,
                            "] b = ", test::numbers(static_cast<size_t>(channels), 2), "> { ", c.node, more, " }"));
}

ChannelAffine drawn_affine(int64_t channels, FoldArithmetic arithmetic) {
  std::mt19937 generator(9);
  std::uniform_real_distribution<double> distribution(-2, 2);
  ChannelAffine affine;
  affine.arithmetic = arithmetic;
  for (int64_t c = 0; c < channels; ++c) {
    affine.factor.push_back(static_cast<float>(distribution(generator)));
    affine.offset.push_back(static_cast<float>(distribution(generator)));
    if (arithmetic == FoldArithmetic::kMeanFirst) affine.mean.push_back(static_cast<float>(distribution(generator)));
  }
  return affine;
}

TEST(FoldAffineTest, OutputsAreThoseOfTheLayerThenTheFunction) {
  for (const FoldCase& c : kCases) {
    for (const auto arithmetic : {FoldArithmetic::kFloat, FoldArithmetic::kMeanFirst, FoldArithmetic::kDouble}) {
      SCOPED_TRACE(cat(c.name, ", arithmetic ", static_cast<int>(arithmetic)));
      ir::Model model = fold_model(c);
      const ir::Node& layer = model.graph.node(model.graph.order()[0]);
      const std::optional<int64_t> channels = foldable_channels(model.graph, layer);
      ASSERT_EQ(channels.value_or(0), c.channels);
      if (!channels) continue;
      // Without a bias kFloat takes the offset as it is: the mean belongs to kMeanFirst.
      const ChannelAffine affine = drawn_affine(*channels, arithmetic);
      const ir::Tensor before = test::run_model(model)[0];
      ir::GraphPatch patch;
      LayerFolds(model.graph, patch).add(layer, affine);
      patch.apply(model.graph);
      ASSERT_EQ(ir::verify(model.graph).message(), "");
      const ir::Tensor after = test::run_model(model)[0];
      ASSERT_EQ(after.dims(), before.dims());
      const std::vector<double> x = ir::to_double(before).value(), y = ir::to_double(after).value();
      const int64_t inner = before.size() / before.dims()[0] / *channels;
      for (size_t i = 0; i < x.size(); ++i) {
        const auto channel = static_cast<size_t>(static_cast<int64_t>(i) / inner % *channels);
        const double mean = affine.mean.empty() ? 0 : affine.mean[channel];
        const double expected = affine.factor[channel] * (x[i] - mean) + affine.offset[channel];
        ASSERT_NEAR(y[i], expected, 1e-4 * (1 + std::abs(expected))) << "element " << i;
      }
    }
  }
}

/// Another reader of the weight or of the bias goes on reading the old one.
TEST(FoldAffineTest, WhatOthersReadStays) {
  const FoldCase& conv = kCases[0];
  ir::Model model = fold_model(conv, " z = Neg (w) v = Abs (b)", "float[] y, float[] z, float[] v");
  const std::vector<ir::Tensor> before = test::run_model(model);
  ir::GraphPatch patch;
  LayerFolds(model.graph, patch)
      .add(model.graph.node(model.graph.order()[0]), drawn_affine(conv.channels, FoldArithmetic::kFloat));
  patch.apply(model.graph);
  ASSERT_EQ(ir::verify(model.graph).message(), "");
  const std::vector<ir::Tensor> after = test::run_model(model);
  ASSERT_EQ(after.size(), 3u);
  EXPECT_FALSE(after[0].same_as(before[0]));
  EXPECT_TRUE(after[1].same_as(before[1])) << "the weight";
  EXPECT_TRUE(after[2].same_as(before[2])) << "the bias";
}

TEST(FoldAffineTest, TwoLayersOfOneWeightGetOneEach) {
  const FoldCase pair = {"pair", "1,3,4,4", "3,3,1,1", 3, "a = Conv (x, w) y = Conv (a, w)"};
  ir::Model model = fold_model(pair);
  const std::vector<ir::NodeId> nodes = model.graph.order();
  ChannelAffine doubled{{2, 2, 2}}, tripled{{3, 3, 3}};
  const std::vector<double> before = ir::to_double(test::run_model(model)[0]).value();
  ir::GraphPatch patch;
  LayerFolds folds(model.graph, patch);
  folds.add(model.graph.node(nodes[0]), doubled);
  folds.add(model.graph.node(nodes[1]), tripled);
  patch.apply(model.graph);
  ASSERT_EQ(ir::verify(model.graph).message(), "");
  const std::vector<double> after = ir::to_double(test::run_model(model)[0]).value();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], 6 * before[i], 1e-4 * (1 + std::abs(before[i])));
}

TEST(FoldAffineTest, NormalizationsBecomeFactorAndOffset) {
  const auto tensor = [](std::vector<float> values) {
    return ir::Tensor::from<float>({static_cast<int64_t>(values.size())}, values);
  };
  const ir::Tensor gamma = tensor({1, 2}), beta = tensor({3, 4}), mean = tensor({5, -6}), variance = tensor({4, 9});
  for (const auto arithmetic : {FoldArithmetic::kFloat, FoldArithmetic::kDouble}) {
    const auto affine = norm_affine({&gamma, &beta, &mean, &variance}, 0, arithmetic);
    ASSERT_TRUE(affine.has_value());
    EXPECT_NEAR(affine->factor[0], 0.5, 1e-6);
    EXPECT_NEAR(affine->factor[1], 2.0 / 3, 1e-6);
    EXPECT_NEAR(affine->offset[0], 3 - 5 * 0.5, 1e-6);
    EXPECT_NEAR(affine->offset[1], 4 + 6 * 2.0 / 3, 1e-6);
  }
  const ir::Tensor negative = tensor({4, -1}), zero = tensor({0, 1});
  EXPECT_FALSE(norm_affine({&gamma, &beta, &mean, &negative}, 0, FoldArithmetic::kFloat).has_value());
  EXPECT_FALSE(norm_affine({&gamma, &beta, &mean, &zero}, 0, FoldArithmetic::kFloat).has_value());
  EXPECT_TRUE(norm_affine({&gamma, &beta, &mean, &zero}, 1e-5f, FoldArithmetic::kFloat).has_value());
}

TEST(FoldAffineTest, PartsAreConsecutiveChannels) {
  const ChannelAffine whole = drawn_affine(5, FoldArithmetic::kMeanFirst), part = whole.part(1, 3);
  EXPECT_EQ(part.factor, (std::vector<double>(whole.factor.begin() + 1, whole.factor.begin() + 4)));
  EXPECT_EQ(part.offset, (std::vector<double>(whole.offset.begin() + 1, whole.offset.begin() + 4)));
  EXPECT_EQ(part.mean, (std::vector<double>(whole.mean.begin() + 1, whole.mean.begin() + 4)));
  EXPECT_EQ(part.arithmetic, whole.arithmetic);
  EXPECT_TRUE((ChannelAffine{{1, 2}}).part(0, 1).offset.empty());
}

}  // namespace
}  // namespace quarkq::rewrite
