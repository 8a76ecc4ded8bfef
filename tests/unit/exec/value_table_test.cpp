// SPDX-License-Identifier: MIT
#include "exec/value_table.h"

#include <gtest/gtest.h>

#include "support/pass_support.h"

namespace quarkq::exec {
namespace {

class ValueTableTest : public testing::Test {
 protected:
  ValueTableTest()
      : model(test::model_of(
            R"(g (float[1, 3, 4, 5] x, float[3, 1, 1] b) => (float[1, 3, 4, 5] y) <float[3] c = {1, 2, 3}>
          { y = Add (x, b) z = Mul (x, c) })")),
        table(model.graph, steps) {
    hold("x", Layout::kChannelsLast);
    hold("b", Layout::kPlain);
    table.set_constant(id("c"), *model.graph.value(id("c")).constant);
  }

  ir::ValueId id(const char* name) const { return model.graph.find(name); }
  void hold(const char* name, Layout native) {
    const ir::Shape dims = model.graph.value(id(name)).type.shape();
    const int64_t bytes = storage_bytes(ElementType::kFloat, ir::checked_count(dims));
    table.at(id(name)) = {.when = ValueTable::When::kNow,
                          .type = ElementType::kFloat,
                          .dims = dims,
                          .native = native,
                          .slot = table.add_slot(bytes)};
  }
  const ir::Node& node(const char* output) const { return *model.graph.producer(id(output)); }

  ir::Model model;
  std::vector<Step> steps;
  ValueTable table;
};

TEST_F(ValueTableTest, TheNativeLayoutNeedsNoConversion) {
  EXPECT_EQ(table.slot_in(id("x"), Layout::kChannelsLast, 4), table.at(id("x")).slot);
  EXPECT_TRUE(steps.empty());
}

TEST_F(ValueTableTest, EachConversionIsMadeOnce) {
  const int plain = table.slot_in(id("x"), Layout::kPlain, 4);
  EXPECT_NE(plain, table.at(id("x")).slot);
  EXPECT_EQ(table.slot_in(id("x"), Layout::kPlain, 4), plain);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].label, "to-plain x");
  EXPECT_EQ(steps[0].inputs, std::vector<int>{table.at(id("x")).slot});
  EXPECT_EQ(steps[0].outputs, std::vector<int>{plain});
}

TEST_F(ValueTableTest, ValuesThatAreTheSameInBothLayoutsShareTheirSlot) {
  EXPECT_EQ(table.slot_in(id("b"), Layout::kChannelsLast, 4), table.at(id("b")).slot) << "one pixel";
  EXPECT_TRUE(steps.empty());
}

TEST_F(ValueTableTest, ABroadcastNodeIsComputedInTheLayoutOfItsLargestInput) {
  EXPECT_EQ(table.choose_layout(node("y"), LayoutRule::kBroadcast), Layout::kChannelsLast);
  EXPECT_EQ(table.choose_layout(node("y"), LayoutRule::kPlain), Layout::kPlain);
  const std::vector<Bound> inputs = table.bind_inputs(node("y"), LayoutRule::kBroadcast, Layout::kChannelsLast);
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].spec.dims, (ir::Shape{1, 4, 5, 3}));
  EXPECT_EQ(inputs[1].spec.dims, (ir::Shape{1, 1, 1, 3})) << "ones in front, then channels last";
}

TEST_F(ValueTableTest, ConstantsAreConvertedWhileCompiling) {
  const std::vector<Bound> inputs = table.bind_inputs(node("z"), LayoutRule::kBroadcast, Layout::kChannelsLast);
  ASSERT_NE(inputs[1].spec.constant, nullptr);
  EXPECT_EQ(inputs[1].spec.constant->dims(), (ir::Shape{1, 1, 3, 1})) << "3 is the width";
  EXPECT_TRUE(table.slots()[static_cast<size_t>(inputs[1].slot)].constant.is_defined());
  EXPECT_TRUE(steps.empty());
}

TEST_F(ValueTableTest, AnObservedConstantGetsOneSlot) {
  const int slot = table.native_slot(id("c"));
  EXPECT_EQ(table.native_slot(id("c")), slot);
  EXPECT_FALSE(table.slots()[static_cast<size_t>(slot)].is_made());
}

}  // namespace
}  // namespace quarkq::exec
