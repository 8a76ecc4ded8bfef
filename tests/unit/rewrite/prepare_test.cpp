// SPDX-License-Identifier: MIT
// The small passes that make a float model ready: each fires, keeps the function, and is idle where it must be.
#include <algorithm>

#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_fires;
using test::expect_idle;
using test::PassBench;

TEST(FoldConstantsTest, ComputesWhatIsKnown) {
  PassBench bench(R"(g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> {
    c = Add (a, b)
    d = Mul (c, c)
    y = Add (x, d)
  })");
  expect_fires(bench, fold_constants);
  EXPECT_EQ(bench.ops(), "Add");
  const ir::Tensor* folded = bench.graph().constant(bench.node("Add").input(1));
  ASSERT_NE(folded, nullptr);
  EXPECT_TRUE(folded->same_as(ir::Tensor::from<float>({2}, std::vector<float>{16, 36})));
  EXPECT_FALSE(bench.graph().find("a").valid());  // unread initializers go
}

TEST(FoldConstantsTest, FollowsConstantNodes) {
  PassBench bench(R"(g (float[2, 3] x) => (float[3, 2] y) {
    s = Constant <value = int64[2] {3, 2}> ()
    z = Constant <value = int64[2] {0, 0}> ()
    t = Add (s, z)
    y = Reshape (x, t)
  })");
  expect_fires(bench, fold_constants);
  EXPECT_EQ(bench.ops(), "Reshape");
}

TEST(FoldConstantsTest, LeavesOutputsInputsAndQuantizersAlone) {
  PassBench output("g (float[1] x) => (float[1] y, float[1] z) <float[1] a = {1}> { y = Add (a, a) z = Add (x, a) }");
  expect_idle(output, fold_constants);
  PassBench overridable(
      "g (float[1] x, float[1] a) => (float[1] y) <float[1] a = {1}> { c = Add (a, a) y = Add (x, c) }");
  expect_idle(overridable, fold_constants);
  PassBench quantized(R"(g (float[1] x) => (float[1] y) <int8[1] q = {5}, float s = {0.5}, int8 z = {0}> {
    w = DequantizeLinear (q, s, z)
    y = Add (x, w)
  })");
  expect_idle(quantized, fold_constants);
  PassBench random("g (float[2] x) => (float[2] y) { r = RandomNormal <shape = [2]> () y = Add (x, r) }");
  expect_idle(random, fold_constants);
}

TEST(RemoveNoOpsTest, TakesIdentityAndDropoutOut) {
  PassBench bench(R"(g (float[3] x) => (float[3] y) {
    a = Relu (x)
    b = Identity (a)
    c, mask = Dropout (b)
    y = Neg (c)
  })");
  expect_fires(bench, remove_no_ops);
  EXPECT_EQ(bench.ops(), "Relu Neg");
}

TEST(RemoveNoOpsTest, AnOutputKeepsItsName) {
  PassBench bench("g (float[3] x) => (float[3] y) { a = Relu (x) y = Identity (a) }");
  expect_fires(bench, remove_no_ops);
  EXPECT_EQ(bench.ops(), "Relu");
  EXPECT_EQ(bench.graph().value(bench.graph().outputs()[0]).name, "y");
}

TEST(RemoveNoOpsTest, AnOutputKeepsAProducerOfItsOwn) {
  PassBench input("g (float[3] x) => (float[3] y) { y = Identity (x) }");
  expect_idle(input, remove_no_ops);
  PassBench constant(
      "g (float[3] x) => (float[3] y, float[3] z) <float[3] w = {1, 2, 3}> { y = Identity (w) z = Relu (x) }");
  expect_idle(constant, remove_no_ops);
  PassBench twice("g (float[3] x) => (float[3] y, float[3] z) { y = Relu (x) z = Identity (y) }");
  expect_idle(twice, remove_no_ops);
}

TEST(RemoveNoOpsTest, KeepsDropoutThatDoesSomething) {
  PassBench mask("g (float[3] x) => (float[3] y, bool[3] m) { a, m = Dropout (x) y = Relu (a) }");
  expect_idle(mask, remove_no_ops);
  PassBench training(
      R"(g (float[3] x) => (float[3] y) <float r = {0.5}, bool t = {1}> { a = Dropout (x, r, t) y = Relu (a) })");
  expect_idle(training, remove_no_ops);
  PassBench unknown("g (float[3] x, bool t) => (float[3] y) <float r = {0.5}> { a = Dropout (x, r, t) y = Relu (a) }");
  expect_idle(unknown, remove_no_ops);
}

/// No checker has looked at the models of `run`.
TEST(RemoveNoOpsTest, KeepsNodesWithoutOutputs) {
  PassBench bench("g (float[3] x) => (float[3] y) { [a] = Identity (x) [b] = Dropout (x) y = Relu (x) }");
  ASSERT_TRUE(bench.node("Identity").outputs.empty());
  expect_idle(bench, remove_no_ops);
}

TEST(RemoveInputInitializersTest, ListsInputsThatMustBeFed) {
  PassBench bench("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }");
  ASSERT_EQ(bench.graph().inputs().size(), 2u);
  expect_fires(bench, remove_input_initializers);
  ASSERT_EQ(bench.graph().inputs().size(), 1u);
  EXPECT_EQ(bench.graph().value(bench.graph().inputs()[0]).name, "x");
  EXPECT_EQ(bench.model.ir_version, 8);
}

TEST(RemoveInputInitializersTest, RaisesTheIrVersionThatForbidsIt) {
  PassBench bench(
      test::model_of("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }", 9, 3));
  EXPECT_TRUE(bench.run(remove_input_initializers));
  EXPECT_EQ(bench.model.ir_version, 7);
  PassBench nothing(test::model_of("g (float[2] x) => (float[2] y) { y = Relu (x) }", 9, 3));
  expect_idle(nothing, remove_input_initializers);
  EXPECT_EQ(nothing.model.ir_version, 3);
}

TEST(FoldGemmBetaTest, ScalesTheBias) {
  PassBench bench(cat("g (float[2, 3] x) => (float[2, 4] y) <float[3, 4] w = ", test::numbers(12, 1),
                      ", float[4] c = {1, 2, 3, 4}> { y = Gemm <beta = 0.5, alpha = 2.0> (x, w, c) }"));
  expect_fires(bench, fold_gemm_beta);
  const ir::Node& gemm = bench.node("Gemm");
  EXPECT_EQ(gemm.float_or("beta", 1), 1.0f);
  EXPECT_EQ(gemm.float_or("alpha", 1), 2.0f);
  EXPECT_TRUE(
      bench.graph().constant(gemm.input(2))->same_as(ir::Tensor::from<float>({4}, std::vector<float>{0.5, 1, 1.5, 2})));
}

TEST(FoldGemmBetaTest, OtherReadersKeepTheirValue) {
  PassBench bench(cat("g (float[2, 3] x) => (float[2, 4] y, float[2, 4] z) <float[3, 4] w = ", test::numbers(12, 1),
                      ", float[4] c = {1, 2, 3, 4}> { y = Gemm <beta = 0.5> (x, w, c) z = Add (y, c) }"));
  expect_fires(bench, fold_gemm_beta);
}

TEST(FoldGemmBetaTest, NeedsAConstantFloatBias) {
  PassBench plain(
      "g (float[2, 3] x, float[3, 4] w) => (float[2, 4] y) <float[4] c = {1, 2, 3, 4}> { y = Gemm (x, w, c) }");
  expect_idle(plain, fold_gemm_beta);
  PassBench none("g (float[2, 3] x, float[3, 4] w) => (float[2, 4] y) { y = Gemm <beta = 0.5> (x, w) }");
  expect_idle(none, fold_gemm_beta);
  PassBench computed(
      "g (float[2, 3] x, float[3, 4] w, float[4] c) => (float[2, 4] y) { y = Gemm <beta = 0.5> (x, w, c) }");
  expect_idle(computed, fold_gemm_beta);
}

/// Names of the selected nodes.
std::string selected(const PassBench& bench) {
  std::vector<std::string> names;
  for (const ir::NodeId id : bench.graph().order()) {
    if (bench.context.selection.selects(bench.graph().node(id))) names.push_back(bench.graph().node(id).name);
  }
  return join(names, " ");
}

/// Three nodes called first, second and third.
ir::Model named_old_model(int opset) {
  ir::Model model = test::model_of(
      "g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) { a = Relu (x) b = Sigmoid (a) y = Relu (b) }", opset);
  ir::GraphEdit edit(model.graph);
  const char* const names[] = {"first", "second", "third"};
  for (size_t i = 0; i < 3; ++i) edit.node(model.graph.order()[i]).name = names[i];
  return model;
}

TEST(RaiseOpsetTest, KeepsWhatIsExcludedAndIncluded) {
  PassBench excluded(named_old_model(9), test::settings_for("A8W8", {"nodes_to_exclude=[second]"}));
  excluded.run(select_nodes);
  EXPECT_EQ(selected(excluded), "first third");
  EXPECT_TRUE(excluded.run(raise_opset));
  EXPECT_EQ(excluded.model.opset(), 10);
  EXPECT_EQ(selected(excluded), "first third");

  PassBench included(named_old_model(9), test::settings_for("A8W8", {"nodes_to_quantize=[third]"}));
  included.run(select_nodes);
  EXPECT_TRUE(included.run(raise_opset));
  EXPECT_EQ(selected(included), "third");
}

TEST(RaiseOpsetTest, FloatOutputsStay) {
  PassBench bench(named_old_model(8), test::settings_for("A8W8", {"per_channel=true"}));
  bench.run(select_nodes);
  expect_fires(bench, raise_opset);
  EXPECT_EQ(bench.model.opset(), 13);
}

/// ONNX Runtime 1.32 loads opset 28 but has no Q/DQ operators of it.
TEST(RaiseOpsetTest, LowersWhatTheRuntimeHasNoPairsFor) {
  PassBench bench(named_old_model(28), test::settings_for("XINT8"));
  bench.run(select_nodes);
  expect_fires(bench, raise_opset);
  EXPECT_EQ(bench.model.opset(), 27);
  ASSERT_FALSE(bench.diagnostics.all().empty());
  EXPECT_EQ(bench.diagnostics.all().front().id, "opset-converted");
}

TEST(RaiseOpsetTest, LeavesNewModelsAlone) {
  for (const int opset : {10, 27}) {
    PassBench bench(named_old_model(opset));
    bench.run(select_nodes);
    expect_idle(bench, raise_opset);
  }
}

}  // namespace
}  // namespace quarkq::pass_tests
