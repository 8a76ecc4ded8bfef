// SPDX-License-Identifier: MIT
#include "ir/edit.h"

#include <gtest/gtest.h>

#include "ir/check_graph.h"
#include "ir/dump.h"

namespace quarkq::ir {
namespace {

/// y = Add(Relu(x), w); also z = Neg(Relu(x)), which nothing reads.
class EditTest : public ::testing::Test {
 protected:
  void SetUp() override {
    x = edit.add_value("x");
    edit.add_graph_input(x);
    w = edit.add_initializer("w", Tensor::scalar(2.0f));
    r = edit.add_value("r");
    y = edit.add_value("y");
    z = edit.add_value("z");
    relu = edit.add_node({.op = "Relu", .domain = "", .name = "relu", .inputs = {x}, .outputs = {r}});
    add = edit.add_node({.op = "Add", .domain = "", .name = "add", .inputs = {r, w}, .outputs = {y}});
    neg = edit.add_node({.op = "Neg", .domain = "", .name = "neg", .inputs = {r}, .outputs = {z}});
    edit.add_graph_output(y);
  }
  void TearDown() override { EXPECT_EQ(verify(graph).message(), ""); }
  std::string nodes() const { return dump(graph, {.values = false}); }

  Graph graph;
  GraphEdit edit{graph};
  ValueId x, w, r, y, z;
  NodeId relu, add, neg;
};

TEST_F(EditTest, LinksBothWays) {
  EXPECT_EQ(graph.value(r).producer, relu);
  EXPECT_EQ(graph.value(r).uses, (std::vector<Use>{{add, 0, false}, {neg, 0, false}}));
  EXPECT_FALSE(graph.sole_use(r).has_value());
  EXPECT_EQ(graph.sole_use(x), (Use{relu, 0, false}));
  EXPECT_FALSE(graph.sole_use(y).has_value());
  EXPECT_EQ(graph.use_count(y), 1u);
  EXPECT_EQ(graph.use_count(ValueId{}), 0u);
  EXPECT_FALSE(graph.sole_use(ValueId{}).has_value());
  EXPECT_EQ(graph.constant(w)->data<float>()[0], 2.0f);
}

TEST_F(EditTest, MakesNamesUnique) {
  EXPECT_EQ(graph.value(edit.add_value("x")).name, "x_1");
  EXPECT_EQ(graph.value(edit.add_value("x")).name, "x_2");
  EXPECT_FALSE(graph.value(edit.add_value("")).name.empty());
}

TEST_F(EditTest, InsertsBeforeANode) {
  const ValueId c = edit.add_value("c");
  edit.add_node({.op = "Cast", .domain = "", .name = "", .inputs = {r}, .outputs = {c}}, add);
  edit.set_input(add, 0, c);
  EXPECT_EQ(nodes(), "r = Relu(x) \"relu\"\nc = Cast(r)\ny = Add(c, w) \"add\"\nz = Neg(r) \"neg\"\n");
}

TEST_F(EditTest, RemovesDeadNodesAndInitializers) {
  edit.set_input(add, 1, x);
  EXPECT_EQ(edit.remove_dead(), 1u);
  EXPECT_FALSE(graph.is_alive(neg));
  EXPECT_FALSE(graph.is_alive(w));
  EXPECT_FALSE(graph.find("w").valid());
  EXPECT_EQ(edit.remove_dead(), 0u);
}

TEST_F(EditTest, KeepsAGraphOutputsNameWhenReplaced) {
  const ValueId q = edit.add_value("q");
  edit.add_node({.op = "Identity", .domain = "", .name = "", .inputs = {y}, .outputs = {q}});
  edit.replace_value(y, q);
  edit.set_input(graph.value(q).producer, 0, y);
  EXPECT_EQ(graph.outputs(), std::vector<ValueId>{q});
  EXPECT_EQ(graph.value(q).name, "y");
  EXPECT_NE(graph.value(y).name, "y");
}

TEST_F(EditTest, RefusesATakenName) {
  EXPECT_FALSE(edit.rename(x, "w"));
  EXPECT_FALSE(edit.rename(x, ""));
  EXPECT_TRUE(edit.rename(x, "x"));
  EXPECT_TRUE(edit.rename(x, "image"));
  EXPECT_EQ(graph.find("image"), x);
  EXPECT_FALSE(graph.find("x").valid());
}

TEST_F(EditTest, SharesWeightsBetweenCopiesUntilOneWrites) {
  Graph copy = graph;
  EXPECT_EQ(copy.value(w).constant->raw(), graph.value(w).constant->raw());
  GraphEdit(copy).mutable_value(w).constant->mutable_data<float>()[0] = 5.0f;
  EXPECT_EQ(graph.value(w).constant->data<float>()[0], 2.0f);
  EXPECT_EQ(copy.value(w).constant->data<float>()[0], 5.0f);
}

TEST_F(EditTest, CountsCapturesAsUses) {
  edit.set_captures(neg, {{w, "w"}});
  EXPECT_EQ(graph.value(w).uses.back(), (Use{neg, 0, true}));
  edit.replace_uses(w, x);
  EXPECT_EQ(graph.node(neg).captures[0].outer, x);
  edit.set_captures(neg, {});
  EXPECT_EQ(graph.use_count(w), 0u);
}

TEST(VerifyTest, FindsBrokenInvariants) {
  Graph graph;
  GraphEdit edit(graph);
  const ValueId x = edit.add_value("x");
  const ValueId y = edit.add_value("y");
  const NodeId node = edit.add_node({.op = "Relu", .domain = "", .name = "relu", .inputs = {x}, .outputs = {y}});
  EXPECT_EQ(verify(graph).message(), "value 'x': is read, but nothing defines it");
  edit.add_graph_input(x);
  EXPECT_TRUE(verify(graph).ok());

  Graph broken = graph;
  GraphEdit(broken).mutable_value(x).uses.clear();
  EXPECT_EQ(verify(broken).message(), "value 'x': lists 0 uses, nodes read it 1 times");
  broken = graph;
  GraphEdit(broken).mutable_value(x).uses.push_back({node, 3, false});
  EXPECT_NE(verify(broken).message().find("does not read it"), std::string::npos);
  broken = graph;
  GraphEdit(broken).mutable_value(y).producer = {};
  EXPECT_NE(verify(broken).message().find("names another producer"), std::string::npos);
  broken = graph;
  GraphEdit(broken).mutable_value(y).name = "other";
  EXPECT_NE(verify(broken).message().find("leads to another value"), std::string::npos);
  broken = graph;
  GraphEdit(broken).set_order({NodeId{7}});
  EXPECT_NE(verify(broken).message().find("not alive"), std::string::npos);
  broken = graph;
  GraphEdit(broken).mutable_value(y).is_output = true;
  EXPECT_NE(verify(broken).message().find("marked as one, but not listed"), std::string::npos);
  EXPECT_EQ(verify(broken).code(), Code::kInternal);
}

TEST(DumpTest, PrintsOneLineANode) {
  Graph graph;
  GraphEdit edit(graph);
  graph.name = "g";
  const ValueId x = edit.add_value("x", {ElementType::kFloat, true, {{-1, "N"}, {3, ""}, {-1, ""}}, {}});
  edit.add_graph_input(x);
  const ValueId w = edit.add_initializer("w", Tensor::from<float>({2}, std::vector<float>{1, 2}));
  const ValueId y = edit.add_value("y");
  NodeSpec spec{.op = "Op", .domain = "my", .name = "say \"hi\"", .inputs = {x, {}, w}, .outputs = {y, {}}};
  spec.attributes = {{"f", 0.1f, {}, {}},
                     {"i", int64_t{-3}, {}, {}},
                     {"is", std::vector<int64_t>{1, 2}, {}, {}},
                     {"s", std::string("a\n"), {}, {}},
                     {"t", Tensor::scalar(int64_t{4}), {}, {}}};
  edit.add_node(std::move(spec));
  edit.add_graph_output(y);
  const std::string text = dump(graph);
  EXPECT_EQ(text.substr(0, text.find("initializer")), "graph \"g\"\ninput x: FLOAT[N,3,?]\n");
  EXPECT_NE(text.find("initializer w: FLOAT[2] #"), std::string::npos);
  const char* const call = "y, _ = my::Op(x, _, w) {f: 0.1, i: -3, is: [1, 2], s: \"a\\x10\", t: INT64[] #";
  EXPECT_NE(text.find(call), std::string::npos) << text;
  EXPECT_NE(text.find("\"say \\\"hi\\\"\"\noutput y: ?\n"), std::string::npos) << text;
}

TEST(DumpTest, TellsTensorsApart) {
  const Tensor a = Tensor::from<float>({2}, std::vector<float>{1, 2});
  const Tensor b = Tensor::from<float>({2}, std::vector<float>{1, 3});
  EXPECT_NE(tensor_text(a), tensor_text(b));
  EXPECT_NE(tensor_text(a), tensor_text(a.reshaped({1, 2})));
  EXPECT_NE(tensor_text(Tensor::of_strings({2}, {"ab", "c"})), tensor_text(Tensor::of_strings({2}, {"a", "bc"})));
}

}  // namespace
}  // namespace quarkq::ir
