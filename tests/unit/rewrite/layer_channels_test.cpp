// SPDX-License-Identifier: MIT
// Weights channel by channel against coordinates of their elements, and working copies until they are stored.
#include "rewrite/weights.h"

#include <set>

#include "support/op_checks.h"
#include "support/pass_support.h"
#include "support/random_draws.h"

namespace quarkq::rewrite {
namespace {

using test::Draws;

ir::Node layer_node(const std::string& op, const std::string& attribute = "", int64_t value = 0) {
  ir::Node node;
  node.op = op;
  if (!attribute.empty()) node.attributes.push_back({attribute, value, {}, {}});
  return node;
}

struct ChannelCase {
  const char* what;
  ir::Node layer;
  ir::Shape dims;
  /// Number of the output and of the input channel of an element at these coordinates; -1: the layer has none.
  int64_t (*written)(const ir::Shape& at);
  int64_t (*read)(const ir::Shape& at);
};

const ChannelCase kChannelCases[] = {
    {"Conv",
     layer_node("Conv"),
     {4, 3, 2, 2},
     [](const ir::Shape& at) { return at[0]; },
     [](const ir::Shape& at) { return at[1]; }},
    {"depthwise Conv",
     layer_node("Conv", "group", 4),
     {4, 1, 3, 3},
     [](const ir::Shape& at) { return at[0]; },
     [](const ir::Shape& at) { return at[0]; }},
    {"Gemm",
     layer_node("Gemm"),
     {5, 3},
     [](const ir::Shape& at) { return at[1]; },
     [](const ir::Shape& at) { return at[0]; }},
    {"Gemm turned",
     layer_node("Gemm", "transB", 1),
     {5, 3},
     [](const ir::Shape& at) { return at[0]; },
     [](const ir::Shape& at) { return at[1]; }},
    {"ConvTranspose", layer_node("ConvTranspose"), {3, 4, 2, 2}, [](const ir::Shape& at) { return at[1]; }, nullptr},
    {"ConvTranspose of groups",
     layer_node("ConvTranspose", "group", 2),
     {4, 3, 2},
     [](const ir::Shape& at) { return at[0] / 2 * 3 + at[1]; },
     nullptr},
};

TEST(LayerChannelsTest, ElementsAreScaledByTheirChannel) {
  Draws draws(3);
  for (const ChannelCase& one : kChannelCases) {
    const ir::Tensor tensor = draws.tensor(one.dims);
    for (const bool is_read : {false, true}) {
      const auto view = is_read ? input_channels(one.layer, one.dims) : written_channels(one.layer, one.dims);
      const auto channel_at = is_read ? one.read : one.written;
      ASSERT_EQ(view.has_value(), channel_at != nullptr) << one.what;
      if (!view) continue;
      std::vector<float> factors;
      for (int64_t i = 0; i < view->channels; ++i) factors.push_back(static_cast<float>(i + 2));
      const auto data = tensor.data<float>();
      std::vector<float> scaled(data.begin(), data.end());
      scale_channels(scaled, *view, factors);
      std::vector<size_t> channels;
      if (view->groups == 1) {
        for_each_run(data, *view,
                     [&](size_t channel, auto run) { channels.insert(channels.end(), run.size(), channel); });
      }
      std::vector<float> ranges(factors.size(), 0);
      test::for_each_index(one.dims, [&](const ir::Shape& at) {
        const size_t i = test::offset_of(one.dims, at);
        const auto channel = static_cast<size_t>(channel_at(at));
        ASSERT_LT(channel, factors.size()) << one.what;
        EXPECT_EQ(scaled[i], data[i] * factors[channel]) << one.what << " element " << i;
        ranges[channel] = std::max(ranges[channel], std::abs(data[i]));
        if (view->groups == 1) {
          EXPECT_EQ(channels[i], channel) << one.what;
        }
      });
      if (view->groups == 1) {
        EXPECT_EQ(channel_ranges(data, *view), ranges) << one.what;
      }
    }
  }
}

TEST(LayerChannelsTest, MagnitudesLeaveOutNaN) {
  EXPECT_EQ(largest_magnitude({}), 0);
  for (const size_t count : {3u, 40u, 100u}) {  // 32 and more are looked at in lanes
    std::vector<float> values(count, 0.5f);
    values[count / 2] = -2.0f;
    EXPECT_EQ(largest_magnitude(values), 2) << count;
    values[0] = NAN;
    EXPECT_EQ(largest_magnitude(values), 2) << count;
    values.assign(count, NAN);
    EXPECT_EQ(largest_magnitude(values), 0) << count;
  }
}

TEST(LayerChannelsTest, OtherFormsHaveNone) {
  EXPECT_FALSE(output_channels(layer_node("Conv"), {4, 3}));
  EXPECT_FALSE(output_channels(layer_node("ConvTranspose"), {3, 4, 2, 2})) << "for Conv and Gemm only";
  EXPECT_FALSE(output_channels(layer_node("Gemm"), {4, 3, 2}));
  EXPECT_FALSE(output_channels(layer_node("MatMul"), {4, 3}));
  EXPECT_FALSE(input_channels(layer_node("Conv"), {4, 3, 2})) << "rank 4 or 5, as in the reference";
  EXPECT_TRUE(input_channels(layer_node("Conv"), {4, 3, 2, 2, 2}));
  EXPECT_FALSE(written_channels(layer_node("ConvTranspose", "group", 3), {4, 3, 2}));
  EXPECT_FALSE(written_channels(layer_node("ConvTranspose", "group", 0), {4, 3, 2}));
}

TEST(LayerChannelsTest, FactorsOfMorePrecisionAreRoundedOnce) {
  std::vector<float> weights = {1.1f, 3.3f};
  const std::vector<double> factors = {1 + 1e-9, 0.1};
  scale_channels<double>(weights, {2, 1}, factors);
  EXPECT_EQ(weights[0], static_cast<float>(static_cast<double>(1.1f) * factors[0]));
  EXPECT_EQ(weights[1], static_cast<float>(static_cast<double>(3.3f) * 0.1));
  EXPECT_EQ(reciprocals(std::vector<float>{4, -0.5f}), (std::vector<float>{0.25f, -2}));
}

std::vector<std::string> initializer_names(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::ValueId id : graph.initializers()) names.push_back(graph.value(id).name);
  return names;
}

TEST(WorkingWeightsTest, OnlyWhatWasTouchedIsStored) {
  ir::Model model = test::model_of(
      "g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}, float[2] c = {5, 6}> { p = Add (x, a) "
      "q = "
      "Add (p, b) y = Add (q, c) }");
  const auto id = [&](const char* name) { return model.graph.find(name); };
  WorkingWeights weights(model.graph);
  EXPECT_FALSE(weights.commit()) << "nothing was touched";
  weights.at(id("b"))[0] = 7;
  weights.at(id("a"))[1] = 8;
  weights.at(id("c"))[0] = 9;
  weights.touch(id("b"));
  weights.touch(id("a"));
  weights.touch(id("b"));
  EXPECT_EQ(model.graph.constant(id("b"))->data<float>()[0], 3.0f) << "before commit()";
  EXPECT_TRUE(weights.commit());
  EXPECT_EQ(ir::to_double(*model.graph.constant(id("a"))).value(), (std::vector<double>{1, 8}));
  EXPECT_EQ(ir::to_double(*model.graph.constant(id("b"))).value(), (std::vector<double>{7, 4}));
  EXPECT_EQ(ir::to_double(*model.graph.constant(id("c"))).value(), (std::vector<double>{5, 6}));
  EXPECT_EQ(initializer_names(model.graph), (std::vector<std::string>{"c", "a", "b"})) << "by their last rewrite";
  EXPECT_EQ(weights.at(id("c"))[0], 5.0f) << "copies are made anew after commit()";
  EXPECT_FALSE(weights.commit());
}

TEST(WorkingWeightsTest, KeepTheTypeOfTheGraph) {
  ir::Model model = test::model_of("g (float16[2] x) => (float16[2] y) <float16[2] k = {1, 2}> { y = Mul (x, k) }");
  const ir::ValueId id = model.graph.find("k");
  WorkingWeights weights(model.graph);
  weights.at(id)[0] = 1 + 1.0f / 4096;  // between two float16
  weights.at(id)[1] = -3.5f;
  weights.touch(id);
  EXPECT_TRUE(weights.commit());
  EXPECT_EQ(model.graph.constant(id)->type(), ElementType::kFloat16);
  EXPECT_EQ(ir::to_double(*model.graph.constant(id)).value(), (std::vector<double>{1, -3.5}));
}

}  // namespace
}  // namespace quarkq::rewrite
