// SPDX-License-Identifier: MIT
// What a layer's settings say of its tensors, which nodes a mark means later, and what keeps a node from being
// quantized.
#include "plan/selection.h"

#include "ir/edit.h"
#include "support/pass_support.h"

namespace quarkq::plan {
namespace {

/// Says something of everything; each part has a type of its own.
config::LayerSpec spec_of_all() {
  const auto part = [](config::DataType type) {
    config::TensorSpec made;
    made.type = type;
    return made;
  };
  config::LayerSpec spec;
  spec.input_tensors = part(config::DataType::kUInt8);
  spec.weight = part(config::DataType::kInt16);
  spec.bias = part(config::DataType::kInt32);
  spec.output_tensors = part(config::DataType::kUInt16);
  return spec;
}

/// "x:input w:weight ..." in the order visited.
std::string visited(const std::string& node, const config::LayerSpec& spec) {
  const ir::Model model =
      test::model_of(cat("g (float[1, 2, 4, 4] x, float[1, 2, 4, 4] z) => (float[] y) <float[2, 2, 1, 1] w = {1, 2, 3, "
                         "4}, float[2] b = {1, 2}, "
                         "float low = {0}, float high = {6}> { ",
                         node, " }"));
  std::string text;
  for_each_tensor(model.graph, model.graph.node(model.graph.order()[0]), spec,
                  [&](ir::ValueId value, const config::TensorSpec& tensor) {
                    const char* part = tensor.type == config::DataType::kUInt8   ? "input"
                                       : tensor.type == config::DataType::kInt16 ? "weight"
                                       : tensor.type == config::DataType::kInt32 ? "bias"
                                                                                 : "output";
                    text += cat(model.graph.value(value).name, ":", part, " ");
                  });
  return text;
}

TEST(LayerTensorsTest, TheFirstConstantIsTheWeightAndTheNextTheBias) {
  EXPECT_EQ(visited("y = Conv (x, w, b)", spec_of_all()), "x:input w:weight b:bias y:output ");
  EXPECT_EQ(visited("y = Conv (x, w)", spec_of_all()), "x:input w:weight y:output ");
  EXPECT_EQ(visited("y = Add (x, z)", spec_of_all()), "x:input z:input y:output ");
  EXPECT_EQ(visited("y = Add (w, x)", spec_of_all()), "w:weight x:bias y:output ");
  EXPECT_EQ(visited("y = Clip (x, , high)", spec_of_all()), "x:input high:weight y:output ");
  EXPECT_EQ(visited("y, m = Dropout (x)", spec_of_all()), "x:input y:output m:output ");
}

TEST(LayerTensorsTest, PartsThatAreNotGivenAreLeftAlone) {
  config::LayerSpec spec = spec_of_all();
  spec.input_tensors.reset();
  spec.output_tensors.reset();
  EXPECT_EQ(visited("y = Conv (x, w, b)", spec), "w:weight b:bias ");
  spec.weight.reset();
  EXPECT_EQ(visited("y = Conv (x, w, b)", spec), "b:bias ");
  EXPECT_EQ(visited("y = Conv (x, w, b)", config::LayerSpec{}), "");
}

struct MarkedNet {
  ir::Model model = test::model_of("g (float[2] x) => (float[2] y) { [a] s = Relu (x) [b] t = Abs (s) y = Neg (t) }");
  const ir::Node& node(size_t i) const { return model.graph.node(model.graph.order()[i]); }
};

TEST(NodeMarksTest, MeanTheNodesThatStandForAMarkedOne) {
  MarkedNet net;
  NodeMarks marks(net.model.graph, /*by_name=*/false);
  EXPECT_TRUE(marks.empty());
  marks.add(net.node(0));
  marks.add(net.node(0));
  marks.add(net.node(2));
  EXPECT_EQ(marks.size(), 2u) << "each node counts once";
  EXPECT_TRUE(marks.contains(net.node(0)) && marks.contains(net.node(2)));
  EXPECT_FALSE(marks.contains(net.node(1)));
  ir::GraphEdit edit(net.model.graph);
  const ir::NodeId made = edit.add_node(
      {"Tanh", "", "fused", {net.node(1).input(0)}, {edit.add_value("v")}, {}, {net.node(0).id, net.node(1).id}});
  EXPECT_TRUE(marks.contains(net.model.graph.node(made))) << "it stands for a and b";
  const ir::NodeId other = edit.add_node({"Tanh", "", "a", {net.node(1).input(0)}, {edit.add_value("u")}, {}, {}});
  EXPECT_FALSE(marks.contains(net.model.graph.node(other))) << "a name alone means nothing";
}

TEST(NodeMarksTest, InCompatModeNamesDecide) {
  MarkedNet net;
  NodeMarks marks(net.model.graph, /*by_name=*/true);
  marks.add(net.node(0));
  marks.add(net.node(2));
  EXPECT_TRUE(marks.contains(net.node(0)));
  EXPECT_FALSE(marks.contains(net.node(2))) << "it has no name";
  ir::GraphEdit(net.model.graph).node(net.node(1).id).name = "a";
  EXPECT_TRUE(marks.contains(net.node(1)));
}

TEST(SelectionTest, TheFirstReasonIsSaid) {
  const MarkedNet net;
  const ir::Graph& graph = net.model.graph;
  Selection selection;
  selection.excluded = selection.included = NodeMarks(graph, false);
  EXPECT_EQ(selection.refusal(net.node(0)), DecisionKind::kOperatorNotSelected);
  selection.op_types = {"Relu", "Abs"};
  EXPECT_FALSE(selection.refusal(net.node(0)).has_value());
  EXPECT_TRUE(selection.selects(net.node(1)));
  selection.included.add(net.node(1));
  EXPECT_EQ(selection.refusal(net.node(0)), DecisionKind::kNodeNotIncluded);
  selection.left_float.insert(net.node(0).id);
  EXPECT_EQ(selection.refusal(net.node(0)), DecisionKind::kNodeLeftFloat);
  selection.excluded.add(net.node(0));
  EXPECT_EQ(selection.refusal(net.node(0)), DecisionKind::kNodeExcluded);
  EXPECT_EQ(selection.refusal(net.node(2)), DecisionKind::kOperatorNotSelected);
  const ir::Model pair =
      test::model_of("g (float[2] x) => (int8[2] y) <float s = {1}, int8 z = {0}> { y = QuantizeLinear (x, s, z) }");
  EXPECT_EQ(selection.refusal(pair.graph.node(pair.graph.order()[0])), DecisionKind::kAlreadyQuantized);
}

}  // namespace
}  // namespace quarkq::plan
