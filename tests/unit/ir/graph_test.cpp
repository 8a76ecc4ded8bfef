// SPDX-License-Identifier: MIT
// What a graph and its nodes answer, the violations that verify() names, and who may write a tensor's memory.
#include "ir/graph.h"

#include <functional>
#include <limits>

#include "ir/node.h"
#include "support/pass_support.h"
#include "support/run_op.h"

namespace quarkq::ir {
namespace {

TEST(GraphTest, ConstantsAreInitializersAndTensorsOfConstantNodes) {
  test::PassBench bench(
      "g (float[2] x, float[2] o = {7, 8}) => (float[2] y) <float[2] w = {1, 2}> "
      "{ c = Constant <value = float[2] {3, 4}> () d = Identity (w) y = Sum (x, w, c, d, o) }");
  const Graph& graph = bench.graph();
  struct Row {
    const char* name;
    std::optional<float> first;
  };
  for (const Row& row : {Row{"w", 1}, Row{"c", 3}, Row{"o", 7}, Row{"x", {}}, Row{"d", {}}, Row{"y", {}}}) {
    const Tensor* found = graph.constant(bench.value(row.name));
    ASSERT_EQ(found != nullptr, row.first.has_value()) << row.name;
    if (found == nullptr) continue;
    EXPECT_EQ(found->data<float>()[0], *row.first) << row.name;
  }
  EXPECT_EQ(graph.constant({}), nullptr);
  EXPECT_EQ(graph.producer({}), nullptr);
  EXPECT_EQ(graph.required_inputs(), std::vector<ValueId>{bench.value("x")});
  EXPECT_EQ(graph.inputs().size(), 2u);
}

TEST(GraphTest, ASoleUseIsOneNodeInput) {
  test::PassBench bench(
      "g (bool k, float[2] x) => (float[2] out, float[2] y) { once = Neg (x) twice = Abs (once) same = Add (twice, "
      "twice) out = Exp (same) read = Log (out) held = Relu (read) y = If (k) <then_branch = t () => (float[2] p) { p "
      "= "
      "Neg (held) }, else_branch = e () => (float[2] q) { q = Neg (held) }> }");
  const Graph& graph = bench.graph();
  struct Row {
    const char* name;
    size_t uses;
    bool is_sole;
  };
  for (const Row& row : {Row{"once", 1, true}, Row{"twice", 2, false}, Row{"out", 2, false}, Row{"y", 1, false},
                         Row{"held", 1, false}, Row{"same", 1, true}}) {
    EXPECT_EQ(graph.use_count(bench.value(row.name)), row.uses) << row.name;
    EXPECT_EQ(graph.sole_use(bench.value(row.name)).has_value(), row.is_sole) << row.name;
  }
}

TEST(GraphTest, LabelsNameTheNodeOrItsFirstOutput) {
  test::PassBench bench("g (float[2] x) => (float[2] y) { [named] a = Neg (x) y = Abs (a) }");
  EXPECT_EQ(bench.graph().label(bench.node("Neg").id), "node named (Neg)");
  EXPECT_EQ(bench.graph().label(bench.node("Abs").id), "node y (Abs)");
  Node bare;
  bare.op = "Op";
  EXPECT_EQ(bare.label(), "node  (Op)");
}

TEST(GraphTest, ImportsKeepTheOrderOfTheFile) {
  Model model;
  EXPECT_EQ(model.opset(), 0);
  model.set_opset("", 17);
  model.set_opset("com.microsoft", 1);
  model.set_opset("", 21);
  EXPECT_EQ(model.opset(), 21);
  EXPECT_EQ(model.opset("com.microsoft"), 1);
  EXPECT_EQ(model.opset("nowhere"), 0);
  EXPECT_EQ(model.opset_order, (std::vector<std::string>{"", "com.microsoft"}));
}

TEST(NodeTest, AttributesOfAnotherTypeCountAsAbsent) {
  Node node;
  node.set("i", int64_t{3});
  node.set("f", 0.5f);
  node.set("s", std::string("text"));
  node.set("is", std::vector<int64_t>{1, 2});
  EXPECT_EQ(node.int_or("i", 9), 3);
  EXPECT_EQ(node.int_or("f", 9), 9);
  EXPECT_EQ(node.float_or("i", 9), 9);
  EXPECT_EQ(node.string_or("s", "else"), "text");
  EXPECT_EQ(node.string_or("is", "else"), "else");
  EXPECT_EQ(node.ints_or("is", {}), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(node.ints_or("none", {4}), std::vector<int64_t>{4});
  node.erase("i");
  node.erase("never there");
  EXPECT_EQ(node.find("i"), nullptr);
  EXPECT_EQ(node.attributes.size(), 3u);
}

TEST(NodeTest, OperatorsOfOtherDomainsAreOthers) {
  Node node;
  node.op = "Conv";
  EXPECT_TRUE(node.is("Conv"));
  node.domain = "com.microsoft";
  EXPECT_FALSE(node.is("Conv"));
  EXPECT_FALSE(node.input(0).valid());
  EXPECT_FALSE(node.output(5).valid());
}

/// y = Op(x, w).
Graph sound_graph() {
  Graph graph;
  GraphEdit edit(graph);
  const ValueId x = edit.add_value("x"), y = edit.add_value("y");
  edit.add_graph_input(x);
  const ValueId w = edit.add_initializer("w", Tensor::scalar(1.0f));
  edit.add_node({.op = "Op", .domain = "", .name = "n", .inputs = {x, w}, .outputs = {y}});
  edit.add_graph_output(y);
  return graph;
}

TEST(VerifyTest, NamesEveryKindOfViolation) {
  const std::vector<std::pair<const char*, std::function<void(Graph&, GraphEdit&)>>> cases = {
      {"", [](Graph&, GraphEdit&) {}},
      {"graph inputs: 'x' is not marked as one",
       [](Graph& graph, GraphEdit& edit) {
         edit.mutable_value(graph.find("x")).is_input = false;
         edit.mutable_value(graph.find("x")).is_captured = true;
       }},
      {"graph outputs: 'y' is not marked as one",
       [](Graph& graph, GraphEdit& edit) { edit.mutable_value(graph.find("y")).is_output = false; }},
      {"value 'w': is read, but nothing defines it",
       [](Graph& graph, GraphEdit& edit) { edit.mutable_value(graph.find("w")).constant.reset(); }},
      {"captured values: 'w' is marked as one, but not listed",
       [](Graph& graph, GraphEdit& edit) { edit.mutable_value(graph.find("w")).is_captured = true; }},
      {"value 'y': has a producer and is an input, initializer or captured value, too",
       [](Graph& graph, GraphEdit& edit) { edit.mutable_value(graph.find("y")).constant = Tensor::scalar(1.0f); }},
      {"value 'x': lists a use twice",
       [](Graph& graph, GraphEdit& edit) {
         edit.mutable_value(graph.find("x")).uses.push_back(graph.value(graph.find("x")).uses[0]);
       }},
      {"value 'x': has a use by node id 9, which is not alive",
       [](Graph& graph, GraphEdit& edit) { edit.mutable_value(graph.find("x")).uses[0].node = NodeId{9}; }},
      {"node n (Op): makes 'y' twice",
       [](Graph& graph, GraphEdit& edit) { edit.node({0}).outputs.push_back(graph.find("y")); }},
      {"node n (Op): reads value id 77, which is not alive",
       [](Graph&, GraphEdit& edit) { edit.node({0}).inputs[0] = ValueId{77}; }},
      {"node n (Op): captures value id 77, which is not alive",
       [](Graph&, GraphEdit& edit) {
         edit.node({0}).captures.push_back({ValueId{77}, "c"});
       }},
      {"node n (Op): makes value id 77, which is not alive",
       [](Graph&, GraphEdit& edit) { edit.node({0}).outputs[0] = ValueId{77}; }},
      {"value 'y': its producer node n (Op) does not make it",
       [](Graph&, GraphEdit& edit) { edit.node({0}).outputs.clear(); }},
      {"node order: lists node n (Op) twice",
       [](Graph& graph, GraphEdit& edit) {
         edit.add_node({.op = "Neg", .domain = "", .name = "", .inputs = {graph.find("x")}, .outputs = {}});
         edit.set_order({NodeId{0}, NodeId{0}});
       }},
      {"value 'w': its producer, node id 5, is not alive",
       [](Graph& graph, GraphEdit& edit) {
         edit.remove_node({0});
         edit.clear_constant(graph.find("w"));
         edit.mutable_value(graph.find("y")).is_output = false;
         edit.mutable_value(graph.find("w")).producer = NodeId{5};
       }},
      {"value '': value id 1 has no name",
       [](Graph& graph, GraphEdit& edit) { edit.mutable_value(graph.find("y")).name = ""; }},
  };
  for (const auto& [message, spoil] : cases) {
    Graph graph = sound_graph();
    GraphEdit edit(graph);
    spoil(graph, edit);
    EXPECT_EQ(verify(graph).message(), message);
  }
}

TEST(VerifyTest, LooksIntoNestedGraphs) {
  Graph body = sound_graph();
  GraphEdit(body).mark_captured(GraphEdit(body).add_value("outer"));
  Graph graph = sound_graph();
  GraphEdit edit(graph);
  edit.node({0}).set("body", std::make_shared<const Graph>(body));
  EXPECT_EQ(verify(graph).message(), "node n (Op): its nested graph reads 'outer', which it does not capture");
  edit.set_captures({0}, {{graph.find("w"), "outer"}});
  EXPECT_EQ(verify(graph).message(), "");
  GraphEdit(body).mutable_value(body.find("x")).uses.clear();
  edit.node({0}).set("body", std::make_shared<const Graph>(body));
  EXPECT_EQ(verify(graph).message(), "node n (Op): value 'x': lists 0 uses, nodes read it 1 times");
}

TEST(TensorMemoryTest, OnlyTheLastOwnerWritesInPlace) {
  Tensor first = Tensor::from<float>({2}, std::vector<float>{1, 2});
  const std::byte* const place = first.raw();
  first.mutable_data<float>()[0] = 3;
  EXPECT_EQ(first.raw(), place);
  Tensor second = first.reshaped({2, 1});
  second.mutable_data<float>()[1] = 9;
  EXPECT_EQ(first.data<float>()[1], 2.0f);
  EXPECT_EQ(second.data<float>()[0], 3.0f) << "the rest is copied";
  EXPECT_NE(second.raw(), place);
  second = Tensor();
  Tensor third = first;
  third.fresh_raw();
  EXPECT_EQ(first.raw(), place);
  EXPECT_NE(third.raw(), place);
}

TEST(TensorMemoryTest, BuffersAreAlignedForVectors) {
  for (const int64_t size : {int64_t{1}, int64_t{3}, int64_t{1000}}) {
    const Tensor tensor = Tensor::allocate(ElementType::kInt8, {size});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.raw()) % 64, 0u) << size;
  }
}

TEST(TensorMemoryTest, NumbersOfEveryTypeAreRead) {
  const std::vector<double> wanted = {0, 1, 100};
  for (const ElementType type : {ElementType::kInt8, ElementType::kUInt8, ElementType::kInt16, ElementType::kUInt16,
                                 ElementType::kInt32, ElementType::kUInt32, ElementType::kInt64, ElementType::kUInt64,
                                 ElementType::kDouble, ElementType::kFloat16, ElementType::kBFloat16}) {
    const Tensor tensor = test::as_type(Tensor::from<float>({3}, std::vector<float>{0, 1, 100}), type);
    EXPECT_EQ(to_double(tensor).value(), wanted) << name(type);
    EXPECT_EQ(to_int64(tensor).value(), (std::vector<int64_t>{0, 1, 100})) << name(type);
  }
  for (const ElementType type : {ElementType::kComplex64, ElementType::kFloat8E5M2}) {
    EXPECT_FALSE(to_double(Tensor::zeros(type, {2})).ok()) << name(type);
  }
}

TEST(TensorMemoryTest, RealNumbersThatNoIntegerHoldsAreRefused) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const float value : {infinity, -infinity, nan, 9.3e18f, -9.3e18f}) {
    for (const ElementType type : {ElementType::kFloat, ElementType::kDouble, ElementType::kBFloat16}) {
      const Tensor tensor = test::as_type(Tensor::from<float>({2}, std::vector<float>{1, value}), type);
      EXPECT_EQ(to_int64(tensor).status().code(), Code::kCorruptModel) << value << " " << name(type);
      EXPECT_TRUE(to_double(tensor).ok());
    }
  }
  EXPECT_EQ(to_int64(Tensor::from<float>({3}, std::vector<float>{-9223372036854775808.0f, 2.75f, -2.75f})).value(),
            (std::vector<int64_t>{std::numeric_limits<int64_t>::min(), 2, -2}));
}

}  // namespace
}  // namespace quarkq::ir
