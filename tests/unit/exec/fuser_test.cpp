// SPDX-License-Identifier: MIT
#include "exec/fuser.h"

#include <gtest/gtest.h>

#include "support/pass_support.h"

namespace quarkq::exec {
namespace {

class FuserTest : public testing::Test {
 protected:
  /// Every value is known: constants as such, others channels-last.
  void make(const std::string& nodes) {
    model = test::model_of(
        "g (float[1,2,6,6] x, float[2,2,3,3] w, float[1,2,6,6] r) => (float[1,2,6,6] y) <float low = {0}, "
        "float high = {6}, float scale = {0.5}, float other = {0.25}, int8 zero = {0}> { " +
        nodes + " }");
    table = std::make_unique<ValueTable>(model.graph, steps);
    for (size_t i = 0; i < model.graph.value_count(); ++i) {
      const ir::ValueId value{static_cast<int32_t>(i)};
      if (const ir::Tensor* constant = model.graph.constant(value)) {
        table->set_constant(value, *constant);
      } else {
        table->at(value) = {.when = ValueTable::When::kNow,
                            .type = ElementType::kFloat,
                            .dims = {1, 2, 6, 6},
                            .native = Layout::kChannelsLast,
                            .slot = 0};
      }
    }
  }
  ir::ValueId id(const char* name) const { return model.graph.find(name); }
  const ir::Node& node(const char* output) const { return *model.graph.producer(id(output)); }
  Fuser fuser(const std::vector<ir::ValueId>& kept) const { return {model.graph, model.opsets, *table, kept}; }
  /// The followers of the node that computes `a`.
  Fusion found(const std::vector<ir::ValueId>& kept) const {
    return fuser(kept).find(node("a"), *find_op(node("a").op, "", model.opset()));
  }

  ir::Model model;
  std::vector<Step> steps;
  std::unique_ptr<ValueTable> table;
};

TEST_F(FuserTest, ClampsAndResidualSumsFollowAConvolution) {
  make("a = Conv <pads = [1,1,1,1]> (x, w) b = Add (a, r) c = Clip (b, low, high) y = Relu (c)");
  const Fusion fusion = found({id("y")});
  ASSERT_EQ(fusion.post_ops.size(), 3u);
  EXPECT_EQ(fusion.post_ops[0].kind, PostOp::Kind::kAdd);
  EXPECT_EQ(fusion.added, std::vector<ir::ValueId>{id("r")});
  EXPECT_EQ(fusion.post_ops[1].high, 6);
  EXPECT_EQ(fusion.output, id("y"));
}

TEST_F(FuserTest, AnObservedValueEndsTheFusion) {
  make("a = Conv <pads = [1,1,1,1]> (x, w) b = Relu (a) y = Relu (b)");
  EXPECT_EQ(found({id("y"), id("b")}).output, id("b"));
  EXPECT_TRUE(found({id("y"), id("a")}).nodes.empty());
}

TEST_F(FuserTest, ASecondReaderEndsTheFusion) {
  make("a = Conv <pads = [1,1,1,1]> (x, w) b = Relu (a) y = Add (b, a)");
  EXPECT_TRUE(found({id("y")}).nodes.empty());
}

TEST_F(FuserTest, OtherOperatorsHaveNoFollowers) {
  make("a = Sigmoid (x) y = Relu (a)");
  EXPECT_TRUE(found({id("y")}).nodes.empty());
}

TEST_F(FuserTest, TheLastFollowerCanBeTakenBack) {
  make("a = Conv <pads = [1,1,1,1]> (x, w) b = Add (a, r) y = Relu (b)");
  Fusion fusion = found({id("y")});
  fusion.pop(id("a"));
  EXPECT_EQ(fusion.output, id("b"));
  fusion.pop(id("a"));
  EXPECT_EQ(fusion.output, id("a"));
  EXPECT_TRUE(fusion.added.empty());
}

TEST_F(FuserTest, AQAndItsDqAreOneStep) {
  make("a = QuantizeLinear (x, scale, zero) y = DequantizeLinear (a, scale, zero)");
  const auto pair = fuser({id("y")}).find_pair(node("a"));
  ASSERT_TRUE(pair.has_value());
  EXPECT_EQ(pair->last, &node("y"));
  EXPECT_EQ(pair->params.scale, 0.5f);
  EXPECT_FALSE(fuser({id("y"), id("a")}).find_pair(node("a")).has_value()) << "the codes are observed";
}

TEST_F(FuserTest, PairsWithOtherParametersStayApart) {
  make("a = QuantizeLinear (x, scale, zero) y = DequantizeLinear (a, other, zero)");
  EXPECT_FALSE(fuser({id("y")}).find_pair(node("a")).has_value());
}

}  // namespace
}  // namespace quarkq::exec
