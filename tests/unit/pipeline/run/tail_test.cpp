// SPDX-License-Identifier: MIT
// What legalize.tail cuts off, and that body and tail joined are the model again.
#include "pipeline/run/tail.h"

#include <gtest/gtest.h>

#include "ir/check_graph.h"
#include "ir/edit.h"
#include "onnx_io/save.h"
#include "support/pass_support.h"

namespace quarkq::pipeline {
namespace {

config::Settings auto_settings() { return test::settings_for("XINT8", {"target=x1", "legalize.tail=auto"}); }

std::string names(const ir::Graph& graph, const std::vector<ir::ValueId>& values) {
  std::vector<std::string> found;
  found.reserve(values.size());
  for (const ir::ValueId value : values) found.push_back(graph.value(value).name);
  return join(found, " ");
}

struct CutCase {
  const char* name;
  const char* nodes;
  const char* tail;     ///< Operators of the tail; empty: nothing is cut.
  const char* outputs;  ///< Of the body.
};

const CutCase kCutCases[] = {
    {"a Softmax that X1 may not run", "a = Conv (x, w) b = GlobalAveragePool (a) y = Softmax <axis = 1> (b)", "Softmax",
     "b"},
    {"an ending that is placed", "a = Conv (x, w) b = Relu (a) y = DepthToSpace <blocksize = 2> (b)", "", "y"},
    {"what the operator set leaves float", "a = Conv (x, w) b = Relu (a) c = Neg (b) y = Relu (c)", "Neg Relu", "b"},
    {"decoding, as a whole", "a = Conv (x, w) b = Concat <axis = 1> (a, a) y = Exp (b)", "Concat Exp", "a"},
    {"decoding that is placed", "a = Conv (x, w) b = Relu (a) y = Concat <axis = 1> (b, a)", "", "y"},
    {"a bias stays in the body", "a = Conv (x, w) b = Add (a, bias) y = Softmax <axis = 1> (b)", "Softmax", "b"},
    {"a product of activations", "a = Conv (x, w) b = Conv (x, w) y = MatMul (a, b)", "MatMul", "a b"},
    {"an input of the model that the tail reads", "a = Conv (x, w) b = Softmax <axis = 1> (a) y = Mul (b, x)",
     "Softmax Mul", "a"},
    {"a refused node before a layer", "a = Softmax <axis = 1> (x) y = Conv (a, w)", "", "y"},
    {"no layer at all", "a = Softmax <axis = 1> (x) y = Relu (a)", "", "y"},
};

/// Moves at the start of decoding, which x2 runs.
const CutCase kMoveCases[] = {
    {"places of transposed results",
     "a = Conv (x, w) b = Conv (x, w) p = Transpose <perm = [0, 2, 3, 1]> (a) q = Transpose <perm = [0, 2, 3, 1]> (b) "
     "c = Concat <axis = 1> (p, q) y = Exp (c)",
     "Exp", "c"},
    {"places of results", "a = Conv (x, w) b = Conv (x, w) c = Concat <axis = 2> (a, b) y = Exp (c)", "Exp", "c"},
    {"channels", "a = Conv (x, w) b = Conv (x, w) c = Concat <axis = 1> (a, b) y = Exp (c)", "Concat Exp", "a b"},
    {"transposed channels",
     "a = Conv (x, w) b = Conv (x, w) p = Transpose <perm = [0, 2, 3, 1]> (a) q = Transpose <perm = [0, 2, 3, 1]> (b) "
     "c = Concat <axis = 3> (p, q) y = Exp (c)",
     "Transpose Transpose Concat Exp", "a b"},
    {"places of what was computed",
     "a = Conv (x, w) s = Softmax <axis = 1> (a) c = Concat <axis = 2> (s, s) y = Exp (c)", "Softmax Concat Exp", "a"},
    {"moves that leave as many tensors", "a = Conv (x, w) b = Transpose (a) y = Exp (b)", "Transpose Exp", "a"},
};

ir::Model model_of_nodes(const std::string& nodes) {
  return test::model_of(cat("g (float[1, 4, 4, 4] x) => (float[A, B, C, D] y) <float[4, 4, 1, 1] w = {1, 2, 3, 4, 1, ",
                            "2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}, float[4, 1, 1] bias = {1, 2, 3, 4}> { ", nodes, " }"));
}

void expect_cuts(std::span<const CutCase> cases, const config::Settings& settings) {
  for (const CutCase& item : cases) {
    const ir::Model whole = model_of_nodes(item.nodes);
    ir::Model body = whole;
    Diagnostics diagnostics;
    const Result<CutTailPtr> tail = cut_tail(body, settings, diagnostics);
    ASSERT_TRUE(tail.ok()) << item.name << ": " << tail.status().message();
    EXPECT_EQ(names(body.graph, body.graph.outputs()), item.outputs) << item.name;
    if (tail.value() == nullptr) {
      EXPECT_STREQ(item.tail, "") << item.name;
      EXPECT_TRUE(diagnostics.all().empty()) << item.name;
      continue;
    }
    EXPECT_EQ(test::ops_of(tail.value()->model.graph), item.tail) << item.name;
    const Result<ir::Model> joined = join_tail(body, *tail.value());
    ASSERT_TRUE(joined.ok()) << item.name << ": " << joined.status().message();
    EXPECT_EQ(ir::verify(joined.value().graph).message(), "") << item.name;
    test::expect_same_outputs(whole, joined.value());
  }
}

TEST(CutTailTest, CutsWhatTheTargetRefuses) { expect_cuts(kCutCases, auto_settings()); }

TEST(CutTailTest, MovesStayInTheBodyWhereFewerTensorsLeaveIt) {
  expect_cuts(kMoveCases, test::settings_for("A8W8", {"target=x2", "legalize.tail=auto"}));
}

TEST(CutTailTest, NothingIsCutWithoutATarget) {
  ir::Model model = model_of_nodes(kCutCases[0].nodes);
  Diagnostics diagnostics;
  const Result<CutTailPtr> tail = cut_tail(model, test::settings_for("BF16", {"legalize.tail=auto"}), diagnostics);
  ASSERT_TRUE(tail.ok());
  EXPECT_EQ(tail.value(), nullptr);
}

CutTailPtr cut(ir::Model& model, const std::string& mode = "cut") {
  Diagnostics ignored;
  Result<CutTailPtr> tail = cut_tail(model, test::settings_for("XINT8", {"legalize.tail=" + mode}), ignored);
  EXPECT_TRUE(tail.ok() && tail.value() != nullptr);
  return tail.ok() ? tail.value() : nullptr;
}

TEST(CutTailTest, KeepsTheOrderOfOutputs) {
  const ir::Model whole = test::model_of(
      "g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] late, float[1, 2, 4, 4] early, float[1, 4, 4, 4] both) "
      "<float[2, 2, 1, 1] w = {1, -2, 3, 4}> { early = Conv (x, w) late = Exp (early) both = Concat <axis = 1> (early, "
      "late) }");
  ir::Model body = whole;
  const CutTailPtr tail = cut(body);
  ASSERT_NE(tail, nullptr);
  EXPECT_EQ(names(body.graph, body.graph.outputs()), "early");
  test::expect_same_outputs(whole, join_tail(body, *tail).value());
}

TEST(JoinTailTest, RenamesWhatCollides) {
  const ir::Model whole = test::model_of(
      "g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) <float[2, 2, 1, 1] w = {1, -2, 3, 4}> { a = Conv (x, w) t = "
      "Exp "
      "(a) y = Relu (t) }");
  ir::Model body = whole;
  const CutTailPtr tail = cut(body);
  ASSERT_NE(tail, nullptr);
  // A pass may give a tensor of the body a name of the tail, that of an output included.
  ir::GraphEdit edit(body.graph);
  const ir::ValueId a = body.graph.find("a");
  const ir::ValueId t = edit.add_value("t"), y = edit.add_value("y"), b = edit.add_value("b");
  edit.add_node({"Neg", "", "", {a}, {t}});
  edit.add_node({"Neg", "", "", {t}, {y}});
  edit.add_node({"Identity", "", "", {y}, {b}});
  edit.set_graph_outputs({b});
  edit.rename(a, "before");
  edit.rename(b, "a");
  test::expect_same_outputs(whole, join_tail(body, *tail).value());
}

TEST(JoinTailTest, ConvertsTheTailToTheOpsetOfTheBody) {
  const char* const nodes =
      "g (float[1, 2, 4, 4] x) => (float[1, 2, 2, 4] y) <float[2, 2, 1, 1] w = {1, -2, 3, 4}> { a = Conv (x, w) b = "
      "Exp "
      "(a) y = Slice (b, s, e, s2) }";
  std::string text = nodes;
  text.insert(text.find("> {"), ", int64[1] s = {0}, int64[1] e = {2}, int64[1] s2 = {2}");
  ir::Model body = test::model_of(text, 11);
  const ir::Model whole = body;
  const CutTailPtr tail = cut(body);
  ASSERT_NE(tail, nullptr);
  body.set_opset("", 17);
  const Result<ir::Model> joined = join_tail(body, *tail);
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  test::expect_same_outputs(whole, joined.value());
}

TEST(JoinTailTest, RefusesWhatDoesNotFit) {
  ir::Model body = model_of_nodes("a = Conv (x, w) y = Exp (a)");
  const CutTailPtr tail = cut(body);
  ASSERT_NE(tail, nullptr);
  const ir::Model other = model_of_nodes("c = Conv (x, w) y = Exp (c)");
  const Result<ir::Model> joined = join_tail(other, *tail);
  ASSERT_FALSE(joined.ok());
  EXPECT_EQ(joined.status().code(), Code::kBadData);
  EXPECT_NE(joined.status().message().find("the tail reads a"), std::string::npos) << joined.status().message();
}

TEST(JoinTailTest, DropsTheMarksOfABody) {
  ir::Model body = model_of_nodes("a = Conv (x, w) y = Exp (a)");
  const CutTailPtr tail = cut(body);
  ASSERT_NE(tail, nullptr);
  onnx_io::set_metadata(body, {{"mine", "1"}});
  mark_body(body, *tail);
  EXPECT_TRUE(is_body(body));
  const ir::Model joined = join_tail(body, *tail).value();
  EXPECT_FALSE(is_body(joined));
  EXPECT_EQ(onnx_io::metadata_of(joined, "mine"), "1");
}

}  // namespace
}  // namespace quarkq::pipeline
