// SPDX-License-Identifier: MIT
// remove-qdq, remove-qdq-between, dequantize: which pairs go, what becomes of outputs and stored integers.
#include "support/convert_bench.h"

namespace quarkq {
namespace {

using test::ConvertBench;

/// x -> Q -> DQ -> nodes, with scale s and zero point z of int8 for all pairs.
std::string paired(const std::string& nodes, const std::string& outputs = "float[2, 4] y",
                   const std::string& more = "") {
  return cat("g (float[2, 4] x) => (", outputs, ") <float s = {0.02}, int8 z = {3}", more.empty() ? "" : ", ", more,
             "> { q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) ", nodes, " }");
}

TEST(RemoveQdqTest, ReadersOfThePairReadWhatItRead) {
  ConvertBench bench(paired("y = Sigmoid (d)"));
  EXPECT_EQ(bench.run("remove-qdq"), 1U);
  EXPECT_EQ(bench.ops(), "Sigmoid");
  EXPECT_EQ(bench.graph().value(bench.node("Sigmoid").input(0)).name, "x");
  EXPECT_TRUE(bench.graph().initializers().empty());
  test::expect_unchanged(bench, "remove-qdq");
}

TEST(RemoveQdqTest, EveryDqOfOneQGoes) {
  ConvertBench bench(paired("e = DequantizeLinear (q, s, z) y = Add (d, e)"));
  EXPECT_EQ(bench.run("remove-qdq"), 2U);
  EXPECT_EQ(bench.ops(), "Add");
}

TEST(RemoveQdqTest, AQThatIsAnOutputStays) {
  ConvertBench bench(paired("y = Sigmoid (d)", "float[2, 4] y, int8[2, 4] q"));
  EXPECT_EQ(bench.run("remove-qdq"), 1U);
  EXPECT_EQ(bench.ops(), "Sigmoid QuantizeLinear");
}

TEST(RemoveQdqTest, OutputsKeepTheirNames) {
  ConvertBench made(paired("t = Sigmoid (x) p = QuantizeLinear (t, s, z) y = DequantizeLinear (p, s, z)"));
  EXPECT_EQ(made.run("remove-qdq"), 2U);
  EXPECT_EQ(made.ops(), "Sigmoid");
  EXPECT_EQ(made.graph().value(made.node("Sigmoid").output(0)).name, "y");
  ConvertBench fed(
      "g (float[2] x) => (float[2] y) <float s = {0.5}> { q = QuantizeLinear (x, s) "
      "y = DequantizeLinear (q, s) }");
  EXPECT_EQ(fed.run("remove-qdq"), 1U);
  EXPECT_EQ(fed.ops(), "Identity") << "an input cannot take the name of an output";
}

TEST(RemoveQdqTest, StoredIntegersKeepTheirDq) {
  ConvertBench bench(
      paired("w = DequantizeLinear (c, s, z) y = Add (d, w)", "float[2, 4] y", "int8[4] c = {1, 2, 3, 4}"));
  EXPECT_EQ(bench.run("remove-qdq"), 1U);
  EXPECT_EQ(bench.ops(), "DequantizeLinear Add");
}

TEST(RemoveQdqTest, AFoldedReluComesBack) {
  const auto model = [](const char* type, int zero) {
    return cat("g (float[2, 4] x) => (float[2, 4] y) <float s = {0.1}, ", type, " z = {", zero,
               "}> { t = Add (x, x) q = QuantizeLinear (t, s, z) d = DequantizeLinear (q, s, z) y = Neg (d) }");
  };
  ConvertBench unsigned_zero(model("uint8", 0)), signed_least(model("int8", -128)), middle(model("uint8", 128));
  for (ConvertBench* bench : {&unsigned_zero, &signed_least}) {
    const ir::Model before = bench->model;
    EXPECT_EQ(bench->run("remove-qdq"), 1U);
    EXPECT_EQ(bench->ops(), "Add Relu Neg");
    test::expect_same_outputs(before, bench->model, 0.06);
  }
  middle.run("remove-qdq");
  EXPECT_EQ(middle.ops(), "Add Neg");
}

TEST(RemoveQdqBetweenTest, OnlyTheChosenOperators) {
  const std::string chain = paired(
      "m = Mul (d, d) mq = QuantizeLinear (m, s, z) md = DequantizeLinear (mq, s, z) a = Add (md, x) "
      "aq = QuantizeLinear (a, s, z) ad = DequantizeLinear (aq, s, z) y = Sigmoid (ad)");
  ConvertBench by_default(chain);
  EXPECT_EQ(by_default.run("remove-qdq-between"), 1U);
  EXPECT_EQ(by_default.ops(), "QuantizeLinear DequantizeLinear Mul Add QuantizeLinear DequantizeLinear Sigmoid");
  ConvertBench chosen(chain);
  EXPECT_EQ(chosen.run("remove-qdq-between:pairs=[[Add,Sigmoid]]"), 1U);
  EXPECT_EQ(chosen.ops(), "QuantizeLinear DequantizeLinear Mul QuantizeLinear DequantizeLinear Add Sigmoid");
  ConvertBench both(chain);
  EXPECT_EQ(both.run("remove-qdq-between:pairs=[[Mul,Add],[Add,Sigmoid]]"), 2U);
  test::expect_unchanged(both, "remove-qdq-between");
}

TEST(RemoveQdqBetweenTest, SharedPairsAreLeftAndNamed) {
  ConvertBench bench(
      paired("m = Mul (d, d) mq = QuantizeLinear (m, s, z) md = DequantizeLinear (mq, s, z) "
             "y = Add (md, x) v = Sigmoid (md)",
             "float[2, 4] y, float[2, 4] v"));
  EXPECT_EQ(bench.run("remove-qdq-between"), 0U);
  ASSERT_EQ(bench.left.size(), 1U);
  EXPECT_EQ(bench.left[0].node, "node y (Add)");
  EXPECT_NE(bench.left[0].reason.find("other readers"), std::string::npos) << bench.left[0].reason;
}

TEST(RemoveQdqBetweenTest, ARangeThatMayBeAReluIsLeft) {
  ConvertBench bench(
      "g (float[2, 4] x) => (float[2, 4] y) <float s = {0.1}, uint8 z = {0}> { m = Mul (x, x) "
      "q = QuantizeLinear (m, s, z) d = DequantizeLinear (q, s, z) y = Add (d, x) }");
  EXPECT_EQ(bench.run("remove-qdq-between"), 0U);
  ASSERT_EQ(bench.left.size(), 1U);
  EXPECT_NE(bench.left[0].reason.find("begins at 0"), std::string::npos) << bench.left[0].reason;
}

TEST(RemoveQdqBetweenTest, PairsOfOperatorsAreChecked) {
  ConvertBench bench(paired("y = Sigmoid (d)"));
  EXPECT_NE(bench.refusal("remove-qdq-between:pairs=[Mul,Add]", Code::kInvalidArgument).find("[[Conv,Relu]"),
            std::string::npos);
  EXPECT_NE(bench.refusal("remove-qdq-between:pairs=[[Mul,Add,Sub]]", Code::kInvalidArgument).find("Mul,Add,Sub"),
            std::string::npos);
}

TEST(DequantizeTest, StoredIntegersBecomeFloats) {
  ConvertBench bench(paired("w = DequantizeLinear (w_quantized, s, z) y = Add (d, w)", "float[2, 4] y",
                            "int8[4] w_quantized = {3, 4, -128, 127}"));
  EXPECT_EQ(bench.run("dequantize"), 2U);
  EXPECT_EQ(bench.ops(), "Add");
  EXPECT_EQ(bench.graph().value(bench.node("Add").input(1)).name, "w");
  const std::vector<double> values = bench.numbers_of("Add", 1);
  const double steps[] = {0, 1, -131, 124};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(values[i], steps[i] * 0.02, 1e-6) << i;
}

TEST(DequantizeTest, ScalesOfChannelsAreThoseOfTheAxis) {
  ConvertBench bench(
      "g (float[1, 2, 1, 1] x) => (float[1, 2, 1, 1] y) <float[2] s = {1, 10}, int8[2] z = {0, 1}, "
      "int8[2, 2, 1, 1] w = {1, 2, 3, 4}> { f = DequantizeLinear <axis = 0> (w, s, z) y = Conv (x, f) }");
  const ir::Model before = bench.model;
  EXPECT_EQ(bench.run("dequantize"), 1U);
  EXPECT_EQ(bench.numbers_of("Conv", 1), (std::vector<double>{1, 2, 20, 30}));
  test::expect_same_outputs(before, bench.model);
}

TEST(DequantizeTest, BlockFormatsGo) {
  ir::Model model = test::model_of("g (float[2, 16] x) => (float[2, 16] y) { b = Identity (x) y = Sigmoid (b) }");
  for (const ir::NodeId id : model.graph.order()) {
    ir::Node& node = ir::GraphEdit(model.graph).node(id);
    if (node.op != "Identity") continue;
    node.op = "BFPQuantizeDequantize";
    node.domain = ir::kQuarkDomain;
  }
  model.set_opset(ir::kQuarkDomain, 1);
  ConvertBench bench(std::move(model));
  EXPECT_EQ(bench.run("dequantize"), 1U);
  EXPECT_EQ(bench.ops(), "Sigmoid");
}

TEST(DequantizeTest, WhatStandsForNoFloatOperatorIsRefused) {
  ConvertBench fed("g (uint8[2] x) => (float[2] y) <float s = {0.5}> { y = DequantizeLinear (x, s) }");
  EXPECT_NE(fed.refusal("dequantize", Code::kUnsupported).find("node y (DequantizeLinear)"), std::string::npos);
  ConvertBench product(
      "g (uint8[2, 2] x) => (int32[2, 2] y) <uint8[2, 2] w = {1, 2, 3, 4}> { y = MatMulInteger (x, w) }");
  EXPECT_NE(product.refusal("dequantize", Code::kUnsupported).find("computes with integers"), std::string::npos);
  ConvertBench output(
      "g (float[2] x) => (float[2] y, float[2] w) <int8[2] c = {1, 2}, float s = {0.5}> { w = DequantizeLinear (c, s) "
      "y = Add (x, w) }");
  EXPECT_NE(output.refusal("dequantize", Code::kUnsupported).find("output of the graph"), std::string::npos);
}

TEST(DequantizeTest, AFloatModelHasNothingToConvert) {
  ConvertBench bench("g (float[2] x) => (float[2] y) { y = Sigmoid (x) }");
  test::expect_unchanged(bench, "dequantize");
  test::expect_unchanged(bench, "remove-qdq");
}

}  // namespace
}  // namespace quarkq
