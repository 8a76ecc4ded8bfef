// SPDX-License-Identifier: MIT
#include "exec/segmenter.h"

#include <gtest/gtest.h>

#include "ir/traversal.h"
#include "support/pass_support.h"

namespace quarkq::exec {
namespace {

const ir::ValueId kA{0}, kB{1};

TEST(SegmentMeterTest, CountsWeightsAndTheMostThatIsThereAtOnce) {
  SegmentMeter meter(2, /*spilled_from=*/1000);
  meter.expect_reader(kA);
  meter.expect_reader(kB);
  meter.add_weights(10);
  meter.made(kA, 100);
  meter.made(kB, 50);
  meter.use({kA, kB});
  EXPECT_EQ(meter.total(), 160);
  EXPECT_EQ(meter.spared({kB}), 110) << "b goes on to the next segment";
  meter.read(kA);
  EXPECT_EQ(meter.spared({}), 60);
  EXPECT_EQ(meter.total(), 160);
}

TEST(SegmentMeterTest, ValuesThatLeaveMemoryCountWhileTheyAreUsed) {
  SegmentMeter meter(2, /*spilled_from=*/100);
  meter.expect_reader(kA);
  meter.made(kA, 100);
  EXPECT_EQ(meter.spared({}), 0);
  meter.use({kA, kA});
  EXPECT_EQ(meter.total(), 100);
}

class SegmenterTest : public testing::Test {
 protected:
  SegmenterTest()
      : model(test::model_of(R"(g (float[8] x) => (float[8] y) <float[8] c = {1, 2, 3, 4, 5, 6, 7, 8}> {
          w = Neg (c)
          a = Relu (x)
          b = Abs (a)
          d = Mul (b, w)
          y = Add (d, a)
        })")),
        table(model.graph, steps) {
    request.segment_bytes = 1;
    request.feeds = {{id("x"), ElementType::kFloat, {8}}};
    request.fetches = {id("y")};
    table.set_constant(id("c"), *model.graph.value(id("c")).constant);
    table.at(id("c")).is_stored = true;
    compute("x");
  }

  ir::ValueId id(const char* name) const { return model.graph.find(name); }
  ir::NodeId node(const char* output) const { return model.graph.producer(id(output))->id; }
  void compute(const char* name) {
    table.at(id(name)) = {
        .when = ValueTable::When::kNow, .type = ElementType::kFloat, .dims = {8}, .slot = table.add_slot(32)};
  }
  std::vector<ir::NodeId> begin(Segmenter& segmenter) const {
    return segmenter.begin(ir::execution_order(model.graph).value(), std::vector<bool>(model.graph.node_count(), true));
  }

  ir::Model model;
  CompileRequest request;
  std::vector<Step> steps;
  ValueTable table;
};

TEST_F(SegmenterTest, ComputedWeightsStandBeforeTheirReader) {
  Segmenter segmenter(model.graph, request, table);
  EXPECT_EQ(begin(segmenter), (std::vector<ir::NodeId>{node("a"), node("b"), node("w"), node("d"), node("y")}));
}

TEST_F(SegmenterTest, EndsWhenItIsFullAndACutSparesMemory) {
  Segmenter segmenter(model.graph, request, table);
  const std::vector<ir::NodeId> order = begin(segmenter);
  const std::vector<bool> done(model.graph.node_count());
  const std::span<const ir::NodeId> left = std::span(order).subspan(1);
  EXPECT_FALSE(segmenter.ends(left, done)) << "nothing was measured";
  compute("a");
  segmenter.measure(model.graph.node(node("a")));
  EXPECT_FALSE(segmenter.ends(left, done)) << "the next node reads all there is";
  segmenter.add_weights(1000);
  EXPECT_TRUE(segmenter.ends(left, done));
  request.segment_bytes = 2000;
  EXPECT_FALSE(segmenter.ends(left, done)) << "it fits";
  request.segment_bytes = 1;
  EXPECT_FALSE(segmenter.ends({}, done)) << "no node is left";
}

TEST_F(SegmenterTest, TheBorderIsWhatLaterNodesRead) {
  compute("a");
  compute("b");
  table.own_constant(id("w"), ir::Tensor::zeros(ElementType::kFloat, {8}));
  const Segmenter segmenter(model.graph, request, table);
  const std::vector<ir::NodeId> later = {node("d"), node("y")};
  const Segmenter::Border border = segmenter.border(later);
  ASSERT_EQ(border.carried.size(), 2u);
  EXPECT_EQ(border.carried[0].value, id("b"));
  EXPECT_EQ(border.carried[1].value, id("a"));
  EXPECT_TRUE(border.handed_on.empty());
  ASSERT_EQ(border.constants.size(), 1u);
  EXPECT_EQ(border.constants[0].value, id("w"));
  const std::vector<ir::NodeId> all = {node("a")};
  EXPECT_EQ(segmenter.border(all).handed_on.size(), 1u) << "the feed x";
}

}  // namespace
}  // namespace quarkq::exec
