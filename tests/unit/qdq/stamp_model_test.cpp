// SPDX-License-Identifier: MIT
// What every written model gets at last: unique names, and the types of inner values.
#include "pipeline/run/pass_runner.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

std::vector<std::string> typed(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (graph.is_alive(id) && graph.value(id).has_info) names.push_back(graph.value(id).name);
  }
  return names;
}

TEST(StampModelTest, StoresTypesOfInnerValuesOnly) {
  PassBench bench(
      "g (float[2, 3] x) => (float[2, 3] y) <float[3] w = {1, 2, 3}> { a = Add (x, w) b = Relu (a) y = Neg (b) }");
  EXPECT_TRUE(bench.run(stamp_model));
  EXPECT_EQ(typed(bench.graph()), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(bench.graph().value(bench.value("b")).type.shape(), (ir::Shape{2, 3}));
}

TEST(StampModelTest, KeepsTypesThatInferenceCannotFind) {
  PassBench bench("g (float[2, 3] x) => (float[2, 3] y) { a = Relu (x) b = Neg (a) y = Abs (b) }");
  ir::GraphEdit edit(bench.model.graph);
  ir::Node& node = edit.node(bench.node("Neg").id);
  node.op = "BFPQuantizeDequantize";
  node.domain = "com.amd.quark";
  bench.model.set_opset("com.amd.quark", 1);
  EXPECT_TRUE(bench.run(stamp_model));
  EXPECT_EQ(typed(bench.graph()), (std::vector<std::string>{"a", "b"}));
}

TEST(StampModelTest, LeavesUnknownTypesOut) {
  PassBench bench("g (float[2] x, int64[k] s) => (float[] y) { a = Reshape (x, s) y = Relu (a) }");
  EXPECT_TRUE(bench.run(stamp_model));
  for (const std::string& name : typed(bench.graph()))
    EXPECT_TRUE(bench.graph().value(bench.value(name)).type.has_shape) << name;
}

TEST(StampModelTest, MakesNodeNamesUnique) {
  PassBench bench("g (float[2] x) => (float[2] y) { a = Relu (x) b = Neg (a) y = Abs (b) }");
  ir::GraphEdit edit(bench.model.graph);
  for (const ir::NodeId id : bench.graph().order()) edit.node(id).name = "same";
  EXPECT_TRUE(bench.run(stamp_model));
  EXPECT_EQ(bench.node("Relu").name, "same");
  EXPECT_EQ(bench.node("Neg").name, "same_1");
  EXPECT_EQ(bench.node("Abs").name, "same_2");
}

}  // namespace
}  // namespace quarkq::pass_tests
