// SPDX-License-Identifier: MIT
// One rounding in several forms: Q/DQ of other domains, Casts, Clips; and passes of quantize on finished models.
#include "support/convert_bench.h"

namespace quarkq {
namespace {

using test::ConvertBench;

/// The model with its Q and DQ nodes in com.amd.quark.
ir::Model extended(const std::string& body, int opset = 17) {
  ir::Model model = test::model_of(body, opset);
  for (const ir::NodeId id : model.graph.order()) {
    ir::Node& node = ir::GraphEdit(model.graph).node(id);
    if (node.op != "QuantizeLinear" && node.op != "DequantizeLinear") continue;
    node.op = "Extended" + node.op;
    node.domain = ir::kQuarkDomain;
  }
  model.set_opset(ir::kQuarkDomain, 1);
  return model;
}

std::string pair_of(const std::string& type) {
  return cat("g (float[4] x) => (float[4] y) <float s = {0.1}, ", type,
             " z = {0}> { q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = Neg (d) }");
}

TEST(CustomQdqToQdqTest, TheDomainIsChosen) {
  ConvertBench microsoft(extended(pair_of("int8")));
  test::expect_converts(microsoft, "custom-qdq-to-qdq", 2, 0);
  EXPECT_EQ(microsoft.node("QuantizeLinear").domain, "com.microsoft");
  EXPECT_EQ(microsoft.model.opset("com.microsoft"), 1);
  EXPECT_EQ(microsoft.run("custom-qdq-to-qdq:domain=ai.onnx"), 2U) << "on from there";
  EXPECT_EQ(microsoft.node("QuantizeLinear").domain, "");
  ConvertBench onnx(extended(pair_of("uint8")));
  test::expect_converts(onnx, "custom-qdq-to-qdq:domain=ai.onnx", 2, 0);
}

TEST(CustomQdqToQdqTest, WhatADomainLacksIsLeft) {
  ConvertBench wide(extended(pair_of("int16")));
  EXPECT_EQ(wide.run("custom-qdq-to-qdq:domain=ai.onnx"), 0U);
  EXPECT_EQ(wide.left.size(), 2U);
  EXPECT_NE(wide.left.at(0).reason.find("needs opset 21"), std::string::npos);
  EXPECT_EQ(wide.run("custom-qdq-to-qdq"), 2U);
  ConvertBench floating(extended(pair_of("float16")));
  EXPECT_EQ(floating.run("custom-qdq-to-qdq"), 0U);
  EXPECT_NE(floating.left.at(0).reason.find("FLOAT16"), std::string::npos);
  EXPECT_NE(floating.refusal("custom-qdq-to-qdq:domain=elsewhere", Code::kInvalidArgument).find("found elsewhere"),
            std::string::npos);
}

const char* const kCasts =
    "g (float[4] x) => (float[4] y, float[4] v) { a = Neg (x) r = Cast <to = 16> (a) b = Cast <to = 1> (r) "
    "c = Cast <to = 1> (r) y = Neg (b) v = Abs (c) }";

TEST(Bf16FormsTest, CastsBecomeQdqAndBack) {
  ConvertBench bench((std::string(kCasts)));
  test::expect_converts(bench, "bf16-cast-to-qdq", 1, 0);
  EXPECT_EQ(bench.ops(), "Neg ExtendedQuantizeLinear ExtendedDequantizeLinear ExtendedDequantizeLinear Neg Abs");
  EXPECT_EQ(bench.stored("ExtendedQuantizeLinear", 2).type(), ElementType::kBFloat16);
  EXPECT_EQ(bench.model.opset(ir::kQuarkDomain), 1);
  test::expect_converts(bench, "bf16-qdq-to-cast", 1, 0);
  EXPECT_EQ(bench.ops(), "Neg Cast Cast Cast Neg Abs");
}

TEST(Bf16FormsTest, OtherCastsStay) {
  ConvertBench output("g (float[4] x) => (bfloat16[4] r) { r = Cast <to = 16> (x) }");
  test::expect_unchanged(output, "bf16-cast-to-qdq");
  ConvertBench half("g (float[4] x) => (float[4] y) { r = Cast <to = 10> (x) y = Cast <to = 1> (r) }");
  test::expect_unchanged(half, "bf16-cast-to-qdq");
}

TEST(Bf16FormsTest, ClipsComeAndGo) {
  ConvertBench bench((std::string(kCasts)));
  bench.run("bf16-cast-to-qdq");
  test::expect_converts(bench, "bf16-with-clip", 1, 0);
  EXPECT_EQ(bench.ops(), "Neg Clip ExtendedQuantizeLinear ExtendedDequantizeLinear ExtendedDequantizeLinear Neg Abs");
  test::expect_converts(bench, "bf16-without-clip", 1, 0);
  EXPECT_EQ(bench.ops(), "Neg ExtendedQuantizeLinear ExtendedDequantizeLinear ExtendedDequantizeLinear Neg Abs");
}

TEST(Bf16FormsTest, ClipsWithOtherLimitsStay) {
  ConvertBench bench("g (float[4] x) => (float[4] y) <float a = {-3e38}, float b = {3e38}> { y = Clip (x, a, b) }");
  test::expect_unchanged(bench, "bf16-without-clip");
}

TEST(PassConversionTest, DedicatedDqNodes) {
  ConvertBench bench(
      "g (float[4] x) => (float[4] y) <float s = {0.1}, int8 z = {0}> { q = QuantizeLinear (x, s, z) "
      "d = DequantizeLinear (q, s, z) a = Neg (d) b = Abs (d) y = Add (a, b) }");
  test::expect_converts(bench, "dedicate-dq-node", 1, 0);
  EXPECT_EQ(bench.ops(), "QuantizeLinear DequantizeLinear DequantizeLinear Neg Abs Add");
}

TEST(PassConversionTest, Int16BiasesNeedOpset21) {
  ConvertBench bench(
      "g (float[2, 2] x) => (float[2, 2] y) <float s = {0.1}, int32 z = {0}, int32[2] b = {7, -70000}, "
      "float[2, 2] w = {1, 2, 3, 4}> { c = DequantizeLinear (b, s, z) y = Gemm (x, w, c) }");
  EXPECT_EQ(bench.run("int16-bias"), 1U);
  EXPECT_EQ(bench.model.opset(), 21);
  const ir::Node& dq = *bench.graph().producer(bench.node("Gemm").input(2));
  EXPECT_EQ(ir::to_int64(*bench.graph().constant(dq.input(0))).value(), (std::vector<int64_t>{7, -32768}));
  EXPECT_EQ(bench.diagnostics.all().back().id, "bias-saturated");
}

TEST(PassConversionTest, OptionsAreSettingsOfThePass) {
  ConvertBench bench("g (float[N, 3] x) => (float[N, 3] y) { y = Neg (x) }", 13);
  EXPECT_EQ(bench.run("convert-opset-version:version=17"), 1U);
  EXPECT_EQ(bench.model.opset(), 17);
  test::expect_unchanged(bench, "convert-opset-version:version=17");
  EXPECT_EQ(bench.run("fix-shapes:shapes=x:[2,3];y:[2,3]"), 1U);
  EXPECT_EQ(bench.graph().value(bench.graph().find("x")).type.shape(), (ir::Shape{2, 3}));
}

TEST(PassConversionTest, AWarningWithoutAChangeIsARefusal) {
  ConvertBench bench("g (float[N, 3] x) => (float[N, 3] y) { y = Gelu (x) }", 20);
  EXPECT_NE(bench.refusal("convert-opset-version:version=13", Code::kUnsupported).find("Gelu"), std::string::npos);
  EXPECT_FALSE(bench.try_step("fix-shapes:shapes=x:[2,4];y:[2,3]").ok());
}

TEST(PassConversionTest, CopiesOfSharedInitializers) {
  const char* const kShared =
      "g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> { a = Add (x, w) "
      "b = Mul (a, w) y = Add (b, w) }";
  ConvertBench all((std::string(kShared)));
  test::expect_converts(all, "copy-shared-init", 1, 0);
  EXPECT_EQ(all.graph().initializers().size(), 3U);
  ConvertBench some((std::string(kShared)));
  some.run("copy-shared-init:op_types=[Add]");
  EXPECT_EQ(some.graph().initializers().size(), 2U);
}

}  // namespace
}  // namespace quarkq
