// SPDX-License-Identifier: MIT
// What each part of a patch does to a graph: place, names, origins, what is removed with it, and what stays.
#include "ir/patch.h"

#include "support/pass_support.h"

namespace quarkq::ir {
namespace {

/// y = Neg(Relu(x) + w) and z = Abs(Relu(x)); each node stands for itself.
class PatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    GraphEdit edit(graph());
    for (const NodeId id : graph().order()) edit.node(id).origins = {id};
  }
  Graph& graph() { return bench_.model.graph; }
  ValueId value(const std::string& name) { return bench_.value(name); }
  NodeId node(const std::string& op) { return bench_.node(op).id; }
  std::string nodes() { return dump(graph(), {.values = false}); }
  void apply(const GraphPatch& patch) {
    patch.apply(graph());
    ASSERT_EQ(verify(graph()).message(), "");
  }

  test::PassBench bench_{
      "g (float[4] x) => (float[4] y, float[4] z) <float[4] w = {1, 2, 3, 4}> "
      "{ r = Relu (x) s = Add (r, w) y = Neg (s) z = Abs (r) }"};
};

TEST_F(PatchTest, EmptyOnesChangeNothing) {
  GraphPatch patch;
  EXPECT_TRUE(patch.empty());
  patch.initializer("unused", Tensor::scalar(1.0f));
  EXPECT_TRUE(patch.empty()) << "values that nothing reads are no change";
  GraphPatch changing;
  changing.set_attribute(node("Add"), "a", int64_t{1});
  EXPECT_FALSE(changing.empty());
}

TEST_F(PatchTest, NewNodesStandBeforeTheFirstRemovedOne) {
  GraphPatch patch;
  patch.node({.op = "Sub",
              .domain = "",
              .name = "made",
              .inputs = {value("r"), value("w")},
              .outputs = {value("s")},
              .attributes = {}});
  patch.remove(node("Add"));
  apply(patch);
  EXPECT_EQ(bench_.ops(), "Relu Sub Neg Abs");
  EXPECT_EQ(graph().value(value("s")).producer, node("Sub")) << "takes over what the removed node made";
}

TEST_F(PatchTest, NewNodesAtTheEndWhenAskedForOrWhenNothingIsRemoved) {
  GraphPatch asked;
  asked.place_at_end();
  asked.node({.op = "Sub",
              .domain = "",
              .name = "",
              .inputs = {value("r"), value("w")},
              .outputs = {value("s")},
              .attributes = {}});
  asked.remove(node("Add"));
  apply(asked);
  EXPECT_EQ(bench_.ops(), "Relu Neg Abs Sub");
  GraphPatch adding;
  adding.node({.op = "Exp",
               .domain = "",
               .name = "",
               .inputs = {value("x")},
               .outputs = {adding.value("e")},
               .attributes = {}});
  apply(adding);
  EXPECT_EQ(bench_.ops(), "Relu Neg Abs Sub Exp");
}

TEST_F(PatchTest, OriginsAreThoseOfAllRemovedNodesOrOfThoseNamed) {
  const NodeId add = node("Add"), neg = node("Neg");
  GraphPatch patch;
  const PatchValue between = patch.value("between");
  patch.node({.op = "Exp", .domain = "", .name = "", .inputs = {value("r")}, .outputs = {between}, .attributes = {}});
  patch.node({.op = "Log",
              .domain = "",
              .name = "",
              .inputs = {between},
              .outputs = {value("y")},
              .attributes = {},
              .stands_for = {neg}});
  patch.remove(neg);
  patch.remove(add);
  apply(patch);
  EXPECT_EQ(bench_.node("Exp").origins, (std::vector<NodeId>{add, neg})) << "sorted, each once";
  EXPECT_EQ(bench_.node("Log").origins, std::vector<NodeId>{neg});
  EXPECT_FALSE(graph().find("w").valid()) << "nothing reads it any more";
}

TEST_F(PatchTest, AnHeirStandsForItselfToo) {
  const NodeId add = node("Add"), neg = node("Neg");
  GraphPatch patch;
  patch.add_origins(add, neg);
  patch.replace(value("y"), value("s"));
  patch.remove(neg);
  apply(patch);
  EXPECT_EQ(graph().node(add).origins, (std::vector<NodeId>{add, neg}));
  EXPECT_EQ(graph().value(graph().outputs()[0]).name, "y") << "the output keeps its name";
  EXPECT_EQ(graph().value(graph().outputs()[0]).producer, add);
}

TEST_F(PatchTest, ANameIsTakenOnceTheOldOwnerHasLeft) {
  GraphPatch patch;
  const PatchValue weights = patch.initializer("w", Tensor::from<float>({4}, std::vector<float>(4, 9.0f)));
  patch.set_input(node("Add"), 1, weights);
  apply(patch);
  EXPECT_TRUE(graph().find("w_1").valid()) << "w had no reason to go: no node that read it was removed";
  GraphPatch second;
  const PatchValue again = second.initializer("w_1", Tensor::from<float>({4}, std::vector<float>(4, 8.0f)));
  second.node({.op = "Mul",
               .domain = "",
               .name = "",
               .inputs = {value("r"), again},
               .outputs = {value("s")},
               .attributes = {}});
  second.remove(node("Add"));
  apply(second);
  EXPECT_EQ(graph().constant(value("w_1"))->data<float>()[0], 8.0f);
  EXPECT_FALSE(graph().find("w_1_1").valid());
}

TEST_F(PatchTest, RenamesToTheNameOfSomethingRemoved) {
  GraphPatch patch;
  const NodeId neg = node("Neg");
  const ValueId sum = value("s");
  patch.replace(value("y"), sum);
  patch.remove(neg);
  patch.rename(value("r"), "s");
  apply(patch);
  EXPECT_EQ(graph().value(sum).name, "y");
  EXPECT_EQ(nodes().find("s = Relu(x)"), 0u) << nodes();
}

TEST_F(PatchTest, InputsUpToTheIndexAreAddedAbsent) {
  GraphPatch patch;
  patch.set_input(node("Abs"), 3, value("w"));
  apply(patch);
  const Node& changed = bench_.node("Abs");
  ASSERT_EQ(changed.inputs.size(), 4u);
  EXPECT_FALSE(changed.input(1).valid());
  EXPECT_FALSE(changed.input(2).valid());
  EXPECT_EQ(changed.input(3), value("w"));
}

TEST_F(PatchTest, AnOutputMovesToAnotherNode) {
  GraphPatch patch;
  const ValueId sum = value("s"), y = value("y");
  patch.remove(node("Neg"));
  patch.set_output(node("Add"), 0, y);
  apply(patch);
  EXPECT_EQ(graph().value(y).producer, node("Add"));
  EXPECT_FALSE(graph().is_alive(sum)) << "what it wrote before has no reader";
}

TEST_F(PatchTest, AMadeValueBecomesAConstant) {
  GraphPatch patch;
  patch.set_constant(value("s"), Tensor::from<float>({4}, std::vector<float>(4, 5.0f)));
  patch.remove(node("Add"));
  apply(patch);
  EXPECT_TRUE(graph().value(value("s")).is_initializer());
  EXPECT_FALSE(graph().find("w").valid());
  EXPECT_TRUE(graph().find("r").valid()) << "Abs still reads it";
}

TEST_F(PatchTest, GraphInputsStayWhenNothingReadsThem) {
  GraphPatch patch;
  patch.replace(value("r"), patch.initializer("c", Tensor::from<float>({4}, std::vector<float>(4, 0.0f))));
  patch.remove(node("Relu"));
  apply(patch);
  EXPECT_EQ(graph().required_inputs(), std::vector<ValueId>{value("x")});
  EXPECT_FALSE(graph().find("r").valid());
  EXPECT_EQ(bench_.ops(), "Add Neg Abs");
}

TEST_F(PatchTest, AttributesAreSetOrReplaced) {
  GraphPatch patch;
  const NodeId add = node("Add");
  patch.set_attribute(add, "first", int64_t{1});
  patch.set_attribute(add, "second", std::string("two"));
  patch.set_attribute(add, "first", 3.0f);
  apply(patch);
  const Node& changed = graph().node(add);
  ASSERT_EQ(changed.attributes.size(), 2u);
  EXPECT_EQ(changed.attributes[0].name, "first") << "keeps its place";
  EXPECT_EQ(changed.float_or("first", 0), 3.0f);
  EXPECT_EQ(changed.int_or("first", -7), -7) << "of another type than asked for";
}

TEST_F(PatchTest, ReplacingTwoOutputsByOneValueIsSeen) {
  // Both graph outputs are read from one value: the second replacement leaves the first one's name.
  GraphPatch patch;
  patch.replace(value("z"), value("r"));
  patch.remove(node("Abs"));
  apply(patch);
  EXPECT_EQ(graph().value(graph().outputs()[1]).name, "z");
  EXPECT_EQ(graph().value(graph().outputs()[1]).producer, node("Relu"));
  EXPECT_EQ(graph().node(node("Add")).inputs[0], graph().outputs()[1]);
}

}  // namespace
}  // namespace quarkq::ir
