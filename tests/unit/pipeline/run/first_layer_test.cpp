// SPDX-License-Identifier: MIT
#include "pipeline/run/model_interface.h"

#include <gtest/gtest.h>

#include "onnx_io/text.h"

namespace quarkq::pipeline {
namespace {

ir::Model layer_model(const std::string& body, const std::string& weights) {
  const Result<ir::Model> model = onnx_io::parse_model_text(
      "<ir_version: 8, opset_import: [\"\" : 13]> g (float[1,1,4,4] x) => (float y) <float[2,1,1,1] w = {3, -4}, "
      "float[2] b "
      "= {1, 2}" +
      weights + "> {" + body + "}");
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.ok() ? model.value() : ir::Model();
}

std::optional<FirstLayer> layer_of(const ir::Model& model) {
  return find_first_layer(model.graph, model.graph.find("x"));
}

TEST(FirstLayerTest, ReadsWeightsBiasesAndWhatFollows) {
  const ir::Model model = layer_model("c = Conv(x, w, b) y = Clip(c)", "");
  const auto layer = layer_of(model);
  ASSERT_TRUE(layer);
  EXPECT_EQ(layer->gain, (std::vector<float>{3, 4}));
  EXPECT_EQ(layer->bias, (std::vector<float>{1, 2}));
  EXPECT_TRUE(layer->deviation.empty());
  EXPECT_EQ(layer->activation, FirstActivation::kScaled);
  EXPECT_EQ(layer_of(layer_model("c = Conv(x, w) y = Relu(c)", ""))->activation, FirstActivation::kLinear);
  EXPECT_EQ(layer_of(layer_model("c = Conv(x, w) y = Relu(c)", ""))->bias, (std::vector<float>{0, 0}));
}

TEST(FirstLayerTest, ReadsBatchNormalization) {
  const ir::Model model =
      layer_model("c = Conv(x, w) y = BatchNormalization(c, b, b, m, v)", ", float[2] m = {5, 6}, float[2] v = {4, 9}");
  const auto layer = layer_of(model);
  ASSERT_TRUE(layer);
  EXPECT_EQ(layer->mean, (std::vector<float>{5, 6}));
  EXPECT_EQ(layer->deviation, (std::vector<float>{2, 3}));
}

TEST(FirstLayerTest, ReadsANormalizationThatIsAProductAndASum) {
  const ir::Model model = layer_model("c = Conv(x, w, b) d = Mul(c, f) e = Add(d, s) y = Relu(e)",
                                      ", float[2,1,1] f = {10, 2}, float[2,1,1] s = {0.5, 0.25}");
  const auto layer = layer_of(model);
  ASSERT_TRUE(layer);
  EXPECT_EQ(layer->gain, (std::vector<float>{30, 8}));
  EXPECT_EQ(layer->bias, (std::vector<float>{10.5f, 4.25f}));
  EXPECT_EQ(layer->output, model.graph.find("e"));
  EXPECT_EQ(layer->activation, FirstActivation::kLinear);
}

TEST(FirstLayerTest, LooksThroughWhatShiftsAndMoves) {
  EXPECT_TRUE(
      layer_of(layer_model("a = Sub(x, k) p = Transpose<perm=[0,1,3,2]>(a) y = Conv(p, w)", ", float k = {2}")));
  EXPECT_FALSE(layer_of(layer_model("a = Mul(x, x) y = Conv(a, w)", "")));
  EXPECT_FALSE(layer_of(layer_model("a = InstanceNormalization(x, k, k) y = Conv(a, w)", ", float[1] k = {2}")));
  EXPECT_FALSE(layer_of(layer_model("y = Relu(x)", "")));
}

TEST(FirstLayerTest, ScoresAreWhatSoftmaxReadsFromALayer) {
  const ir::Model softmax = layer_model("c = Conv(x, w) f = Flatten(c) y = Softmax(f)", "");
  EXPECT_EQ(find_scores(softmax.graph), std::vector<ir::ValueId>{softmax.graph.find("f")});
  EXPECT_TRUE(find_scores(layer_model("c = Mul(x, x) y = Softmax(c)", "").graph).empty());
}

}  // namespace
}  // namespace quarkq::pipeline
