// SPDX-License-Identifier: MIT
// The compiler's view of a model, and what it places together.
#include <gtest/gtest.h>

#include "support/target_models.h"
#include "targets/quantized_view.h"
#include "targets/regions.h"

namespace quarkq::targets {
namespace {

using test::QuantizedText;

struct Seen {
  ir::Model model;
  QuantizedView view;
  Groups groups;

  explicit Seen(ir::Model made)
      : model(std::move(made)), view(view_of(model).value()), groups(group_operators(view, /*as_if_quantized=*/true)) {}
  explicit Seen(const std::string& body) : Seen(test::target_model(body)) {}
  Seen(const Seen&) = delete;

  ir::NodeId op(const std::string& type) const {
    for (const ir::NodeId id : view.operators) {
      if (view.node(id).op == type) return id;
    }
    ADD_FAILURE() << "no " << type;
    return view.operators.front();
  }
  size_t group_size(const std::string& type) const { return groups.group_of(op(type)).size(); }
};

TEST(ViewTest, LinksOperatorsThroughPairs) {
  QuantizedText text;
  const std::string relu = text.op(cat("Relu (", text.pair(text.conv(text.pair("x"))), ")"));
  const Seen seen(text.body(text.pair(relu)));
  EXPECT_EQ(seen.view.operators.size(), 2u);
  EXPECT_EQ(seen.view.sources_of(seen.op("Relu")), std::vector<ir::NodeId>{seen.op("Conv")});
  EXPECT_EQ(seen.view.readers_of(seen.op("Conv")), std::vector<ir::NodeId>{seen.op("Relu")});
  EXPECT_TRUE(seen.view.sources_of(seen.op("Conv")).empty());
}

TEST(ViewTest, FindsStoredTensorsBeforePairs) {
  QuantizedText text;
  const Seen seen(text.body(text.pair(text.conv(text.pair("x")))));
  const ir::Node& conv = seen.view.node(seen.op("Conv"));
  EXPECT_EQ(seen.view.stored(conv.input(0)), nullptr);
  ASSERT_NE(seen.view.stored(conv.input(1)), nullptr);
  EXPECT_EQ(seen.view.stored(conv.input(1))->size(), 16);
  EXPECT_TRUE(seen.view.is_from_pair(conv.input(0)));
}

TEST(ViewTest, KnowsWhatStandsBetweenConvs) {
  QuantizedText text;
  const std::string relu = text.pair(text.op(cat("Relu (", text.pair(text.conv(text.pair("x"))), ")")));
  const std::string last = text.pair(text.op(cat("Abs (", text.pair(text.conv(relu)), ")")));
  const Seen seen(text.body(last));
  const auto index = [&](const char* op) { return static_cast<size_t>(seen.op(op).index); };
  EXPECT_TRUE(seen.view.has_conv_before[index("Relu")] && seen.view.has_conv_after[index("Relu")]);
  EXPECT_TRUE(seen.view.has_conv_before[index("Abs")]);
  EXPECT_FALSE(seen.view.has_conv_after[index("Abs")]);
}

TEST(ViewTest, ReadsParametersOfBothKinds) {
  QuantizedText text;
  const Seen seen(text.body(text.pair(text.conv(text.pair("x")))));
  ASSERT_EQ(seen.view.parameters.size(), 5u);  // two pairs and the weight
  size_t stored = 0;
  for (const Parameters& one : seen.view.parameters) {
    EXPECT_EQ(one.type, ElementType::kInt8);
    stored += one.is_stored ? 1 : 0;
  }
  EXPECT_EQ(stored, 1u);
}

TEST(ViewTest, APowerOfTwoHasOneBit) {
  for (const float yes : {1.0F, 0.25F, 8.0F, 0.0009765625F})
    EXPECT_TRUE(is_power_of_two(ir::Tensor::scalar(yes))) << yes;
  for (const float no : {0.0F, -0.5F, 0.3F, 3.0F, std::numeric_limits<float>::infinity()})
    EXPECT_FALSE(is_power_of_two(ir::Tensor::scalar(no))) << no;
  EXPECT_FALSE(is_power_of_two(ir::Tensor::from<float>({2}, std::vector<float>{0.5F, 0.3F})));
}

TEST(ViewTest, OperatorsOfOtherDomainsHaveTheirDomain) {
  const Seen seen(
      test::target_model("g (float[4] x) => (float[4] y) { y = com.microsoft.QuickGelu (x) }", {"com.microsoft"}));
  EXPECT_EQ(seen.view.op_of(seen.view.operators[0]), "com.microsoft::QuickGelu");
}

TEST(GroupsTest, ConvAndReluWithoutPairsAreOneGroup) {
  QuantizedText text;
  const std::string relu = text.op(cat("Relu (", text.conv(text.pair("x")), ")"));
  EXPECT_EQ(Seen(text.body(text.pair(relu))).group_size("Relu"), 2u);
}

TEST(GroupsTest, PairsSeparate) {
  QuantizedText text;
  const std::string relu = text.op(cat("Relu (", text.pair(text.conv(text.pair("x"))), ")"));
  EXPECT_EQ(Seen(text.body(text.pair(relu))).group_size("Relu"), 1u);
}

TEST(GroupsTest, LongChainsAndTailsAreLeftFloat) {
  QuantizedText text;
  std::string value = text.pair("x");
  for (int i = 0; i < 5; ++i) value = text.op(cat("Abs (", value, ")"));
  const Seen chain(text.body(text.pair(value)));
  EXPECT_TRUE(chain.groups.left_float(chain.op("Abs")));
  QuantizedText tail;
  const Seen end(tail.body(tail.op(cat("Abs (", tail.pair("x"), ")"))));
  EXPECT_TRUE(end.groups.left_float(end.op("Abs")));
}

TEST(GroupsTest, TwoProductsAreNoFusedChain) {
  QuantizedText text;
  const Seen seen(text.body(text.pair(text.conv(text.conv(text.pair("x"))))));
  EXPECT_TRUE(seen.groups.left_float(seen.op("Conv")));
}

TEST(GroupsTest, InAFloatModelOnlyTheActivationJoins) {
  const Seen seen("g (float[4] x) => (float[4] y) { a = Abs(x) b = Relu(a) y = Neg(b) }");
  EXPECT_EQ(seen.group_size("Relu"), 2u);
  EXPECT_EQ(seen.group_size("Neg"), 1u);
  EXPECT_FALSE(seen.groups.left_float(seen.op("Neg")));
}

TEST(GroupsTest, AnActivationWithASecondReaderOfItsInputDoesNotJoin) {
  const Seen seen("g (float[4] x) => (float[4] y, float[4] z) { a = Abs(x) y = Relu(a) z = Neg(a) }");
  EXPECT_EQ(seen.group_size("Relu"), 1u);
}

TEST(GroupsTest, ShapesAreIntegers) {
  const Seen seen("g (float[2, 4] x) => (int64[2] s, float[2, 4] y) { s = Shape(x) y = Relu(x) }");
  EXPECT_TRUE(seen.groups.integer(seen.op("Shape")));
  EXPECT_FALSE(seen.groups.integer(seen.op("Relu")));
}

TEST(PairCountTest, StoredTensorsWithTheirOwnQBelongToTheirReader) {
  const Seen seen(R"(g (float[4] x) => (float[4] y) <float s = {0.5}, int8 z = {0}, float[4] w = {1, 2, 3, 4}> {
    a = QuantizeLinear (x, s, z) b = DequantizeLinear (a, s, z) c = QuantizeLinear (w, s, z) d = DequantizeLinear (c, s, z)
    e = Mul (b, d) f = QuantizeLinear (e, s, z) y = DequantizeLinear (f, s, z) })");
  const PairCounts counts = count_pairs(seen.view);
  EXPECT_EQ(counts.at_edges, 2u);
  EXPECT_EQ(counts.of[static_cast<size_t>(seen.op("Mul").index)], 4u);  // b, c, d, f
}

TEST(PairCountTest, EachOutputHasItsDqOnTheCpu) {
  const Seen seen(R"(g (float[4] x) => (float[4] y, float[4] u) <float s = {0.5}, int8 z = {0}> {
    a = QuantizeLinear (x, s, z) b = DequantizeLinear (a, s, z) c = Abs (b) d = Neg (b)
    e = QuantizeLinear (c, s, z) y = DequantizeLinear (e, s, z) f = QuantizeLinear (d, s, z) u = DequantizeLinear (f, s, z) })");
  EXPECT_EQ(count_pairs(seen.view).at_edges, 3u);
}

}  // namespace
}  // namespace quarkq::targets
