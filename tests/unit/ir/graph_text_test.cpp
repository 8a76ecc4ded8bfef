// SPDX-License-Identifier: MIT
// Graphs as text: every kind of attribute, what is absent, nested graphs and rests; equal texts mean equal graphs.
#include <gtest/gtest.h>

#include <set>

#include "ir/dump.h"
#include "ir/edit.h"

namespace quarkq::ir {
namespace {

/// One node over x with these attributes, as its line after the operator.
std::string line_with(std::vector<Attribute> attributes, const DumpOptions& options = {.values = false}) {
  Graph graph;
  GraphEdit edit(graph);
  const ValueId x = edit.add_value("x");
  edit.add_graph_input(x);
  NodeSpec spec{.op = "Op", .domain = "", .name = "", .inputs = {x}, .outputs = {}};
  spec.attributes = std::move(attributes);
  edit.add_node(std::move(spec));
  const std::string text = dump(graph, options);
  EXPECT_EQ(text.find(" = Op(x)"), 0u) << text;
  return text.substr(8, text.size() - 9);
}

TEST(GraphTextTest, ListsPrintTheirItems) {
  EXPECT_EQ(line_with({}), "");
  EXPECT_EQ(line_with({{"fs", std::vector<float>{0.1f, -2, 1e-30f}, {}, {}}}), " {fs: [0.1, -2, 1e-30]}");
  EXPECT_EQ(line_with({{"ss", std::vector<std::string>{"a", "b\\\""}, {}, {}}}), " {ss: [\"a\", \"b\\\\\\\"\"]}");
  EXPECT_EQ(line_with({{"is", std::vector<int64_t>{}, {}, {}}}), " {is: []}");
  const Tensor one = Tensor::scalar(1.0f);
  EXPECT_EQ(line_with({{"ts", std::vector<Tensor>{one, one}, {}, {}}}),
            cat(" {ts: [", tensor_text(one), ", ", tensor_text(one), "]}"));
}

TEST(GraphTextTest, OpaqueAttributesAndReferencesAreToldApart) {
  const std::string a = line_with({{"o", OpaqueAttribute{"bytes"}, {}, {}}});
  EXPECT_EQ(a.find(" {o: opaque #"), 0u) << a;
  EXPECT_NE(a, line_with({{"o", OpaqueAttribute{"other"}, {}, {}}}));
  EXPECT_EQ(line_with({{"o", OpaqueAttribute{"bytes"}, "outer", {}}}), a.substr(0, a.size() - 1) + " @outer}");
}

TEST(GraphTextTest, RestsPrintOnlyWhenAskedFor) {
  const Attribute plain{"i", int64_t{1}, {}, {}}, documented{"i", int64_t{1}, {}, "doc"};
  EXPECT_EQ(line_with({plain}), line_with({documented}));
  const DumpOptions rests{.values = false, .rests = true};
  EXPECT_EQ(line_with({plain}, rests), line_with({plain}));
  EXPECT_NE(line_with({documented}, rests), line_with({plain}, rests));

  Model model;
  model.set_opset("", 17);
  model.set_opset("com.microsoft", 1);
  model.producer_name = "a \"b\"";
  EXPECT_EQ(dump(model),
            "ir_version 8\nopset ai.onnx 17\nopset com.microsoft 1\nproducer \"a \\\"b\\\"\" \"\"\ngraph \"\"\n");
  std::set<std::string> texts = {dump(model, {.values = true, .rests = true})};
  GraphEdit edit(model.graph);
  const ValueId x = edit.add_value("x");
  edit.add_graph_input(x);
  edit.add_graph_output(x);
  const ValueId w = edit.add_initializer("w", Tensor::scalar(1.0f));
  const std::string bare = dump(model);
  // Each rest shows, and each at its own place.
  const auto with = [&](auto change) {
    Model changed = model;
    change(changed);
    EXPECT_EQ(dump(changed), bare);
    return dump(changed, {.values = true, .rests = true});
  };
  for (const char* rest : {"", "1", "2"}) {
    texts.insert(with([&](Model& m) { m.extra = rest; }));
    texts.insert(with([&](Model& m) { m.graph.extra = rest; }));
    texts.insert(with([&](Model& m) { GraphEdit(m.graph).mutable_value(x).extra = rest; }));
    texts.insert(with([&](Model& m) { GraphEdit(m.graph).mutable_value(w).tensor_extra = rest; }));
  }
  EXPECT_EQ(texts.size(), 1u + 1u + 4u * 2u);
}

TEST(GraphTextTest, NestedGraphsAreIndentedAndCapturesNamed) {
  auto inner = std::make_shared<Graph>();
  GraphEdit inside(*inner);
  inner->name = "body";
  const ValueId outer = inside.add_value("outer"), made = inside.add_value("made");
  inside.mark_captured(outer);
  inside.add_node({.op = "Neg", .domain = "", .name = "", .inputs = {outer}, .outputs = {made}});
  inside.add_graph_output(made);
  Graph graph;
  GraphEdit edit(graph);
  const ValueId x = edit.add_value("x"), y = edit.add_value("y");
  edit.add_graph_input(x);
  const NodeId node = edit.add_node({.op = "Loop", .domain = "", .name = "", .inputs = {}, .outputs = {y}});
  edit.node(node).set("body", GraphPtr(inner));
  edit.node(node).overload = "v2";
  edit.set_captures(node, {{x, "outer"}});
  EXPECT_EQ(dump(graph, {.values = false}), "y = Loop:v2() {body: {\n  made = Neg(outer)\n}} <outer=x>\n");
  EXPECT_EQ(dump(graph),
            "graph \"\"\ninput x: ?\n"
            "y = Loop:v2() {body: {\n  graph \"body\"\n  captured outer\n  made = Neg(outer)\n  output made: ?\n}} "
            "<outer=x>\n");
  edit.node(node).set("body", std::vector<GraphPtr>{inner, inner});
  const std::string list = dump(graph, {.values = false});
  EXPECT_EQ(list, "y = Loop:v2() {body: [{\n  made = Neg(outer)\n}, {\n  made = Neg(outer)\n}]} <outer=x>\n");
}

TEST(GraphTextTest, TypesSayWhatIsKnown) {
  EXPECT_EQ(type_text({}), "?");
  EXPECT_EQ(type_text({ElementType::kInt4, false, {}, {}}), "INT4");
  EXPECT_EQ(type_text({ElementType::kInt4, true, {}, {}}), "INT4[]");
  EXPECT_EQ(type_text({ElementType::kUndefined, true, {{2, ""}, {0, "zero"}, {-1, "N"}, {-1, ""}}, {}}), "?[2,0,N,?]");
  const std::string sequence = type_text({ElementType::kUndefined, false, {}, "a sequence"});
  EXPECT_EQ(sequence.find("other #"), 0u);
  EXPECT_NE(sequence, type_text({ElementType::kUndefined, false, {}, "another"}));
  EXPECT_EQ(dims_text({}), "[]");
}

TEST(GraphTextTest, StoredTypesOfInnerValuesAreListed) {
  Graph graph;
  GraphEdit edit(graph);
  const ValueId x = edit.add_value("x", {ElementType::kFloat, true, {{2, ""}}, {}});
  edit.add_graph_input(x);
  const ValueId h = edit.add_value("h", {ElementType::kFloat, true, {{2, ""}}, {}}), y = edit.add_value("y");
  edit.add_node({.op = "Neg", .domain = "", .name = "", .inputs = {x}, .outputs = {h}});
  edit.add_node({.op = "Abs", .domain = "", .name = "", .inputs = {h}, .outputs = {y}});
  const std::string without = dump(graph);
  edit.mutable_value(h).has_info = true;
  EXPECT_EQ(dump(graph), without + "info h: FLOAT[2]\n");
  edit.remove_node(graph.order()[1]);
  edit.remove_node(graph.order()[0]);
  edit.remove_value(h);
  EXPECT_EQ(dump(graph), "graph \"\"\ninput x: FLOAT[2]\n") << "what was removed does not print";
}

}  // namespace
}  // namespace quarkq::ir
