// SPDX-License-Identifier: MIT
// Passes that change number formats of a quantized graph: bfloat16 Casts, float32 for float16.
#include "pipeline/run/pass_runner.h"
#include "support/legalize_samples.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_idle;
using test::PassBench;

/// x -> extended Q -> DQ -> Relu -> Q -> DQ (y), with weights of bfloat16; `scale` for all.
ir::Model bf16_model(float scale, ElementType zero_type = ElementType::kBFloat16) {
  ir::Model model = test::model_of("g (float[1, 4] x) => (float[1, 4] y) { a = Relu (x) y = Neg (a) }");
  model.set_opset("com.amd.quark", 1);
  ir::GraphEdit edit(model.graph);
  const ir::ValueId s = edit.add_initializer("s", ir::Tensor::scalar(scale));
  const ir::ValueId z = edit.add_initializer("z", ir::Tensor::zeros(zero_type, {}));
  const ir::ValueId a = model.graph.find("a");
  const ir::NodeId neg = model.graph.order()[1];
  ir::ValueType type = model.graph.value(a).type;
  const ir::ValueId d = edit.add_value("d", type);
  type.element = zero_type;
  const ir::ValueId q = edit.add_value("q", type);
  edit.set_input(neg, 0, d);
  edit.add_node({"ExtendedQuantizeLinear", "com.amd.quark", "qn", {a, s, z}, {q}}, neg);
  edit.add_node({"ExtendedDequantizeLinear", "com.amd.quark", "dn", {q, s, z}, {d}}, neg);
  return model;
}

TEST(Bf16QdqToCastTest, KeepsTheValues) {
  for (const float scale : {1.0f, 0.5f, 3.0f}) {
    PassBench bench(bf16_model(scale));
    test::expect_fires(bench, bf16_qdq_to_cast, scale == 3.0f ? 0.004 : 0);
    EXPECT_EQ(bench.ops(), scale == 1 ? "Relu Cast Cast Neg" : "Relu Mul Cast Cast Mul Neg");
  }
}

TEST(Bf16QdqToCastTest, LeavesOtherTypesAlone) {
  PassBench bench(bf16_model(1, ElementType::kFloat16));
  expect_idle(bench, bf16_qdq_to_cast);
  expect_idle(bench, bf16_with_clip);
}

TEST(Bf16WithClipTest, ClipsOnce) {
  PassBench bench(bf16_model(1));
  test::expect_fires(bench, bf16_with_clip, 0);
  EXPECT_EQ(bench.ops(), "Relu Clip ExtendedQuantizeLinear ExtendedDequantizeLinear Neg");
}

TEST(DropBf16CastsTest, LeavesCastsOnInputsAndOfOtherTypes) {
  PassBench input("g (float[2] x) => (float[2] y) { a = Cast <to = 16> (x) b = Cast <to = 1> (a) y = Neg (b) }");
  expect_idle(input, drop_bf16_casts);
  PassBench half(
      "g (float[2] x) => (float[2] y) { r = Cast <to = 10> (x) a = Cast <to = 16> (r) "
      "b = Cast <to = 1> (a) y = Neg (b) }");
  expect_idle(half, drop_bf16_casts);
}

TEST(DropBf16CastsTest, RoundsStoredTensorsAndKeepsOutputNames) {
  PassBench bench(
      "g (float[2] x) => (float[2] y) <float[2] w = {1.001, 2}> { c = Cast <to = 16> (w) "
      "d = Cast <to = 1> (c) m = Mul (x, d) e = Cast <to = 16> (m) y = Cast <to = 1> (e) }");
  EXPECT_TRUE(bench.run(drop_bf16_casts));
  EXPECT_EQ(bench.ops(), "Mul");
  EXPECT_EQ(bench.graph().constant(bench.value("w_bf16"))->data<float>()[0], 1.0f);
  EXPECT_EQ(bench.graph().value(bench.node("Mul").output(0)).name, "y");
  EXPECT_FALSE(bench.run(drop_bf16_casts));
}

/// Stored float16 numbers are bits: w = {1, 2, 3, 4}, s = 0.5.
constexpr const char kHalfBody[] =
    "g (float16[1, 2] x) => (float16[1, 2] y, float16[1, 2] r) <float16[2, 2] w = {15360, 16384, 16896, 17408}, "
    "float16 s = {14336}, "
    "int8 z = {0}> {\n q = QuantizeLinear (x, s, z)\n d = DequantizeLinear (q, s, z)\n m = MatMul (d, w)\n"
    " r = Relu (m)\n y = MatMul (r, w)\n}";

void expect_half_interface(const PassBench& bench) {
  for (const char* name : {"x", "y", "r"})
    EXPECT_EQ(bench.graph().value(bench.value(name)).type.element, ElementType::kFloat16) << name;
}

TEST(UseFp32ScaleTest, ComputesInFloat32) {
  PassBench bench(test::model_of(kHalfBody, 19));
  EXPECT_TRUE(bench.run(use_fp32_scale));
  expect_half_interface(bench);
  for (const char* name : {"w", "s", "q", "d", "m"})
    EXPECT_NE(bench.graph().value(bench.value(name)).type.element, ElementType::kFloat16) << name;
  EXPECT_EQ(bench.ops(), "Cast QuantizeLinear DequantizeLinear MatMul Relu MatMul Cast Cast");
  EXPECT_FALSE(bench.run(use_fp32_scale));
}

TEST(UseFp32ScaleTest, LeavesExcludedNodesInFloat16) {
  PassBench bench(test::model_of(kHalfBody, 19));
  ir::GraphEdit edit(bench.model.graph);
  for (const ir::NodeId id : bench.graph().order()) edit.node(id).origins = {id};
  bench.context.selection.excluded = plan::NodeMarks(bench.graph(), false);
  bench.context.selection.excluded.add(bench.node("Relu"));
  EXPECT_TRUE(bench.run(use_fp32_scale));
  expect_half_interface(bench);
  const ir::Node& relu = bench.node("Relu");
  EXPECT_EQ(bench.graph().producer(relu.input(0))->op, "Cast");
  EXPECT_EQ(bench.graph().value(relu.output(0)).name, "r");
  EXPECT_EQ(bench.graph().value(bench.value("m_Cast_0_output")).type.element, ElementType::kFloat16);
  EXPECT_FALSE(bench.run(use_fp32_scale));
}

/// float16 codes are the format that was asked for; a float32 zero point would say that nothing is rounded.
TEST(UseFp32ScaleTest, KeepsFloat16Codes) {
  Result<ir::Model> parsed = onnx_io::parse_model_text(
      "<ir_version: 9, opset_import: [\"\" : 19, \"com.amd.quark\" : 1]>\n"
      "g (float16[1, 2] x) => (float16[1, 2] y) <float16[2, 2] w = {15360, 16384, 16896, 17408}, "
      "float16 s = {14336}, float16 z = {0}, float16[2, 2] c = {15360, 16384, 16896, 17408}> {\n"
      " q = com.amd.quark.ExtendedQuantizeLinear (x, s, z)\n d = com.amd.quark.ExtendedDequantizeLinear (q, s, z)\n"
      " e = com.amd.quark.ExtendedDequantizeLinear (c, s, z)\n m = MatMul (d, w)\n y = MatMul (m, e)\n}");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  Diagnostics ignored;
  ASSERT_TRUE(onnx_io::infer_types(parsed.value(), ignored).ok());
  const ir::Model model = parsed.value();
  PassBench bench(model);
  EXPECT_TRUE(bench.run(use_fp32_scale));
  const auto type = [&](const char* name) { return bench.graph().value(bench.value(name)).type.element; };
  for (const char* name : {"z", "q", "c", "x", "y"}) EXPECT_EQ(type(name), ElementType::kFloat16) << name;
  for (const char* name : {"s", "d", "e", "w", "m"}) EXPECT_EQ(type(name), ElementType::kFloat) << name;
  EXPECT_EQ(bench.graph().constant(bench.value("z"))->type(), ElementType::kFloat16);
  EXPECT_EQ(bench.graph().constant(bench.value("c"))->type(), ElementType::kFloat16);
  EXPECT_FALSE(bench.run(use_fp32_scale));
  PassBench compat(model, test::settings_for("FP16", {"quarkq.compat=quark-0.13"}));
  EXPECT_TRUE(compat.run(use_fp32_scale));
  EXPECT_EQ(compat.graph().constant(compat.value("z"))->type(), ElementType::kFloat);
}

TEST(UseFp32ScaleTest, LeavesFloat32Alone) {
  PassBench bench("g (float[2] x) => (float[2] y) { y = Relu (x) }");
  expect_idle(bench, use_fp32_scale);
}

}  // namespace
}  // namespace quarkq::pass_tests
