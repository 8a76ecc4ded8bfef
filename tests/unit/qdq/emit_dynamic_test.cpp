// SPDX-License-Identifier: MIT
// Dynamic quantization (ref:writing#dynamic-quantization): names and wiring, what stays float, and that the result
// computes the same.
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

/// The model after selection and emission.
struct Emitted {
  PassBench bench;
  ir::Model before;

  explicit Emitted(const std::string& body, const std::vector<std::string>& sets = {}, int opset = 17)
      : bench(test::model_of(body, opset), test::settings_for("UINT8_DYNAMIC_QUANT", sets)), before(bench.model) {
    bench.run(select_nodes);
  }
  bool emit() { return bench.run(emit_dynamic); }
  void expect_close() { test::expect_same_outputs(before, bench.model, 0.05); }
};

const std::string kMatrix = cat("<float[4, 4] w = ", test::numbers(16, 1), ">");

TEST(EmitDynamicTest, MatMulOnIntegers) {
  Emitted made(cat("g (float[2, 4] x) => (float[2, 4] y) ", kMatrix, " { y = MatMul (x, w) }"));
  EXPECT_TRUE(made.emit());
  EXPECT_EQ(made.bench.ops(), "DynamicQuantizeLinear MatMulInteger Cast Mul Mul");
  made.expect_close();
  EXPECT_FALSE(made.bench.graph().find("w").valid());
  EXPECT_FALSE(made.emit());
}

TEST(EmitDynamicTest, OneInputIsQuantizedOnce) {
  Emitted made(
      cat("g (float[2, 4] x) => (float[2, 4] y, float[2, 4] z) ", kMatrix, " { y = MatMul (x, w) z = MatMul (x, w) }"));
  EXPECT_TRUE(made.emit());
  EXPECT_EQ(made.bench.ops(), "DynamicQuantizeLinear MatMulInteger Cast Mul Mul MatMulInteger Cast Mul Mul");
  made.expect_close();
}

TEST(EmitDynamicTest, ConvKeepsItsBiasAsFloat) {
  Emitted made(cat("g (float[1, 2, 3, 3] x) => (float[1, 2, 3, 3] y) <float[2, 2, 1, 1] w = ", test::numbers(4, 1),
                   ", float[2] b = {0.5, -0.25}> { y = Conv (x, w, b) }"),
               {"per_channel=true"});
  EXPECT_TRUE(made.emit());
  EXPECT_EQ(made.bench.ops(), "DynamicQuantizeLinear ConvInteger Cast Mul Mul Reshape Add");
  made.expect_close();
  EXPECT_EQ(made.bench.graph().value(made.bench.value("w_scale")).constant->rank(), 0);
}

TEST(EmitDynamicTest, GemmBecomesMatMulAndAdd) {
  Emitted made(cat("g (float[2, 4] x) => (float[2, 4] y) <float[4, 4] w = ", test::numbers(16, 1),
                   ", float[4] b = ", test::numbers(4, 2), "> { y = Gemm <transB = 1> (x, w, b) }"));
  EXPECT_TRUE(made.emit());
  EXPECT_EQ(made.bench.ops(), "DynamicQuantizeLinear MatMulInteger Cast Mul Mul Add");
  made.expect_close();
}

TEST(EmitDynamicTest, GatheredIntegersBecomeFloatForOthers) {
  Emitted made(cat("g (float[1] x) => (float[2, 4] y) <float[4, 4] w = ", test::numbers(16, 1),
                   ", int64[2] i = {1, 3}> { t = Gather (w, i) y = Add (t, x) }"));
  EXPECT_TRUE(made.emit());
  EXPECT_EQ(made.bench.ops(), "Gather DequantizeLinear Add");
  made.expect_close();
}

TEST(EmitDynamicTest, TransposeMovesIntegersThatExist) {
  Emitted made(cat("g (float[4, 4] x) => (float[4, 4] y, float[4, 4] z) ", kMatrix,
                   " { y = MatMul (x, w) t = Transpose (x) z = MatMul (t, w) }"));
  EXPECT_TRUE(made.emit());
  EXPECT_EQ(made.bench.ops(), "DynamicQuantizeLinear MatMulInteger Cast Mul Mul Transpose MatMulInteger Cast Mul Mul");
  made.expect_close();
}

TEST(EmitDynamicTest, WhatIsLeftOut) {
  Emitted activations("g (float[2, 2] x) => (float[2, 2] y) { y = MatMul (x, x) }");
  EXPECT_FALSE(activations.emit());
  Emitted excluded(cat("g (float[2, 4] x) => (float[2, 4] y) ", kMatrix, " { y = MatMul (x, w) }"),
                   {"op_types_to_quantize=[Conv]"});
  EXPECT_FALSE(excluded.emit());
  Emitted scaled(cat("g (float[2, 4] x) => (float[2, 4] y) ", kMatrix, " { y = Gemm <alpha = 0.5> (x, w) }"));
  EXPECT_FALSE(scaled.emit());
}

TEST(EmitDynamicTest, OldOpsetsAreRefused) {
  Emitted made(cat("g (float[2, 4] x) => (float[2, 4] y) ", kMatrix, " { y = MatMul (x, w) }"), {}, 10);
  EXPECT_EQ(pipeline::run_pass(made.bench.context, emit_dynamic).status().message(),
            "use_dynamic_quant: needs opset 11 or more, the model has 10; set ConvertOpsetVersion");
}

}  // namespace
}  // namespace quarkq::pass_tests
