// SPDX-License-Identifier: MIT
// Nested graphs: what they capture, and under which names they are written.
#include "io_test_support.h"
#include "ir/check_graph.h"
#include "ir/edit.h"

namespace quarkq::onnx_io {
namespace {

const char* const kTwoLevels = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (bool c, float[2] x) => (float[2] y) {
    a = Neg(x)
    y = If (c) <
      then_branch = then_g () => (float[2] t) {
        t = If (c) <
          then_branch = inner () => (float[2] i) { i = Add(a, x) },
          else_branch = inner2 () => (float[2] j) { j = Identity(a) }
        >
      },
      else_branch = else_g () => (float[2] e) { e = Identity(x) }
    >
  })";

const ir::Node& if_node(const ir::Graph& graph) {
  for (const ir::NodeId id : graph.order()) {
    if (graph.node(id).is("If")) return graph.node(id);
  }
  ADD_FAILURE() << "no If";
  return graph.node(graph.order()[0]);
}

std::vector<std::string> captured(const ir::Node& node) {
  std::vector<std::string> names;
  for (const ir::Capture& capture : node.captures) names.push_back(capture.name);
  std::sort(names.begin(), names.end());
  return names;
}

TEST(NestedGraphTest, CapturesThroughTwoLevels) {
  const ir::Model model = parsed(kTwoLevels);
  ASSERT_EQ(ir::verify(model.graph).message(), "");
  const ir::Node& outer = if_node(model.graph);
  EXPECT_EQ(captured(outer), (std::vector<std::string>{"a", "c", "x"}));
  const ir::Graph& then_branch = **outer.get<ir::GraphPtr>("then_branch");
  EXPECT_EQ(captured(if_node(then_branch)), (std::vector<std::string>{"a", "x"}));
  const ir::ValueId a = then_branch.find("a");
  ASSERT_TRUE(a.valid());
  EXPECT_TRUE(then_branch.value(a).is_captured);
  EXPECT_FALSE(then_branch.value(a).producer.valid());
  const ir::Value& main_a = model.graph.value(model.graph.find("a"));
  ASSERT_EQ(main_a.uses.size(), 1u);
  EXPECT_TRUE(main_a.uses[0].is_capture);
  EXPECT_TRUE(if_node(then_branch).origins.empty());
}

TEST(NestedGraphTest, WritesTheOuterValuesPresentName) {
  ir::Model model = parsed(kTwoLevels);
  ir::GraphEdit edit(model.graph);
  ASSERT_TRUE(edit.rename(model.graph.find("a"), "renamed"));
  const Result<ir::Model> again = load_bytes(to_bytes(model), "again");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(captured(if_node(again.value().graph)), (std::vector<std::string>{"c", "renamed", "x"}));
  const ir::Graph& then_branch = **if_node(again.value().graph).get<ir::GraphPtr>("then_branch");
  EXPECT_EQ(captured(if_node(then_branch)), (std::vector<std::string>{"renamed", "x"}));
}

TEST(NestedGraphTest, MovesInnerNamesOutOfTheWay) {
  ir::Model model = parsed(kTwoLevels);
  ir::GraphEdit edit(model.graph);
  ASSERT_TRUE(edit.rename(model.graph.find("a"), "i"));  // "i" is what the innermost graph calls its own value
  const Result<ir::Model> again = load_bytes(to_bytes(model), "again");
  ASSERT_TRUE(again.ok()) << again.status().message();
  const ir::Graph& then_branch = **if_node(again.value().graph).get<ir::GraphPtr>("then_branch");
  const ir::Graph& inner = **if_node(then_branch).get<ir::GraphPtr>("then_branch");
  const ir::Node& add = inner.node(inner.order()[0]);
  EXPECT_EQ(inner.value(add.input(0)).name, "i");
  EXPECT_NE(inner.value(add.output(0)).name, "i");
  EXPECT_EQ(inner.outputs()[0], add.output(0));
}

TEST(NestedGraphTest, FollowsAReplacedValue) {
  ir::Model model = parsed(kTwoLevels);
  ir::GraphEdit edit(model.graph);
  const ir::ValueId fresh = edit.add_value("fresh");
  edit.add_node({.op = "Abs", .domain = "", .name = "", .inputs = {model.graph.find("x")}, .outputs = {fresh}},
                model.graph.order()[0]);
  edit.replace_uses(model.graph.find("a"), fresh);
  ASSERT_EQ(ir::verify(model.graph).message(), "");
  const ir::Model again = load_bytes(to_bytes(model), "again").value();
  EXPECT_EQ(captured(if_node(again.graph)), (std::vector<std::string>{"c", "fresh", "x"}));
}

TEST(NestedGraphTest, LetsInnerNamesShadowOuterOnes) {
  const ir::Model model = parsed(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[2] x) => (float[2] y) {
      y = If (c) < then_branch = t () => (float[2] o) { x = Constant <value_floats = [1.0, 2.0]> ()  o = Neg(x) },
                   else_branch = e () => (float[2] p) { p = Neg(x) } >
    })");
  const ir::Node& node = if_node(model.graph);
  EXPECT_TRUE((**node.get<ir::GraphPtr>("then_branch")).captured().empty());
  EXPECT_EQ(captured(node), std::vector<std::string>{"x"});
}

TEST(NestedGraphTest, CountsCapturesAsReads) {
  const ir::Model model = parsed(kTwoLevels);
  EXPECT_FALSE(model.graph.sole_use(model.graph.find("a")).has_value());
  EXPECT_EQ(model.graph.use_count(model.graph.find("a")), 1u);
}

}  // namespace
}  // namespace quarkq::onnx_io
