// SPDX-License-Identifier: MIT
// BatchNormalization into Gemm and ConvTranspose, directly and through Concat.
#include "pipeline/run/pass_runner.h"
#include "support/golden_algorithms.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_fires;
using test::expect_idle;
using test::numbers;
using test::PassBench;

/// BatchNormalization of 3 channels with parameters of its own after `nodes`, which make h.
std::string normalized(const std::string& input, const std::string& output, const std::string& initializers,
                       const std::string& nodes, const std::string& attributes = "<epsilon = 0.001>") {
  return cat("g (", input, " x) => (", output, ") <float[3] ga = ", numbers(3, 1, 0.5, 2),
             ", float[3] be = ", numbers(3, 2), ", float[3] me = ", numbers(3, 3),
             ", float[3] va = ", numbers(3, 4, 0.5, 2), ", ", initializers, "> { ", nodes, " y = BatchNormalization ",
             attributes, " (h, ga, be, me, va) }");
}

const std::string kGemm = "float[3, 4] w = " + numbers(12, 5) + ", float[3] b = " + numbers(3, 6);
const std::string kTranspose = "float[2, 3, 2, 2] w = " + numbers(24, 5) + ", float[3] b = " + numbers(3, 6);

TEST(FoldBatchNormTest, IntoGemmAndConvTranspose) {
  PassBench gemm(normalized("float[2, 4]", "float[2, 3] y", kGemm, "h = Gemm <transB = 1> (x, w, b)"));
  expect_fires(gemm, fold_batch_norm);
  EXPECT_EQ(gemm.ops(), "Gemm");
  PassBench transpose(
      normalized("float[1, 2, 3, 3]", "float[1, 3, 4, 4] y", kTranspose, "h = ConvTranspose (x, w, b)"));
  expect_fires(transpose, fold_batch_norm);
  EXPECT_EQ(transpose.ops(), "ConvTranspose");
}

TEST(FoldBatchNormTest, AddsAMissingBias) {
  PassBench bench(normalized("float[2, 4]", "float[2, 3] y", kGemm, "h = Gemm <transB = 1> (x, w)", ""));
  ir::GraphEdit(bench.model.graph).node(bench.graph().order()[0]).name = "fc";
  expect_fires(bench, fold_batch_norm);
  EXPECT_TRUE(bench.graph().find("fc_bias_4bn").valid());
}

TEST(FoldBatchNormTest, OtherReadersKeepTheirWeights) {
  PassBench bench(normalized("float[2, 4]", "float[2, 3] y, float[2, 3] z", kGemm,
                             "h = Gemm <transB = 1> (x, w, b) z = Gemm <transB = 1> (x, w, b)"));
  expect_fires(bench, fold_batch_norm);
}

TEST(FoldBatchNormTest, KeepsOtherNormalizations) {
  const std::string flipped = "float[4, 3] w = " + numbers(12, 5) + ", float[3] b = " + numbers(3, 6);
  const std::string grouped = "float[3, 1, 2, 2] w = " + numbers(12, 5) + ", float[3] b = " + numbers(3, 6);
  const std::string bodies[] = {
      normalized("float[2, 4]", "float[2, 3] y", flipped, "h = Gemm (x, w, b)"),
      normalized("float[2, 4]", "float[2, 3] y", kGemm, "h = Gemm <transB = 1, alpha = 2.0> (x, w, b)"),
      normalized("float[2, 4]", "float[2, 3] y", kGemm, "h = Gemm <transB = 1, beta = 2.0> (x, w, b)"),
      normalized("float[2, 4]", "float[2, 3] y, float[2, 3] h", kGemm, "h = Gemm <transB = 1> (x, w, b)"),
      normalized("float[2, 4]", "float[2, 3] y, float[2, 3] z", kGemm, "h = Gemm <transB = 1> (x, w, b) z = Relu (h)"),
      normalized("float[1, 3, 3, 3]", "float[1, 3, 4, 4] y", grouped, "h = ConvTranspose <group = 3> (x, w, b)"),
      normalized("float[2, 3]", "float[2, 3] y", kGemm, "h = Relu (x)")};
  for (const std::string& body : bodies) {
    PassBench bench(body);
    bench.run(fold_batch_norm);
    EXPECT_NE(bench.ops().find("BatchNormalization"), std::string::npos) << body;
  }
}

TEST(FoldBatchNormTest, KeepsWhatIsQuantizedItself) {
  PassBench bench(normalized("float[2, 4]", "float[2, 3] y", kGemm, "h = Gemm <transB = 1> (x, w, b)"));
  bench.run(select_nodes);
  bench.context.selection.op_types.insert("BatchNormalization");
  expect_idle(bench, fold_batch_norm);
}

TEST(FoldBatchNormTest, AgreesWithTheReference) {
  QQ_SKIP_WITHOUT_ALGORITHMS();
  const nlohmann::json& gemm = test::golden_algorithms()["fold_bn_gemm"];
  PassBench bench(
      cat("g (float[1, 3] x) => (float[1, 2] y) <float[2, 3] w = ", test::text_of(gemm["in"]["w"]),
          ", float[2] b = ", test::text_of(gemm["in"]["b"]), ", float[2] ga = ", test::text_of(gemm["in"]["gamma"]),
          ", float[2] be = ", test::text_of(gemm["in"]["beta"]), ", float[2] me = ", test::text_of(gemm["in"]["mean"]),
          ", float[2] va = ", test::text_of(gemm["in"]["var"]),
          "> { h = Gemm <transB = 1> (x, w, b) y = BatchNormalization <epsilon = 0.00001> (h, ga, be, me, va) }"));
  EXPECT_TRUE(bench.run(fold_batch_norm));
  for (const auto& [name, values] : gemm["out"].items()) test::expect_stored(bench.graph(), name, values);

  config::Settings compat = test::settings_for("A8W8");
  compat.compat = true;
  PassBench transpose(
      test::model_of("g (float[1, 2, 1, 1] x) => (float[1, 2, 1, 1] y) <float[2, 2, 1, 1] w = {1, 2, 3, 4},"
                     "float[2] ga = {1.5, 0.5}, float[2] be = {0.1, -0.2}, float[2] me = {0.3, 0.4},"
                     "float[2] va = {2, 0.25}> { h = ConvTranspose (x, w) "
                     "y = BatchNormalization (h, ga, be, me, va) }"),
      compat);
  ir::GraphEdit(transpose.model.graph).node(transpose.graph().order()[0]).name = "ct";
  EXPECT_TRUE(transpose.run(fold_batch_norm));
  for (const auto& [name, values] : test::golden_algorithms()["fold_bn_convtranspose_default_eps"]["out"].items())
    test::expect_stored(transpose.graph(), name, values);
}

const std::string kParts = "float[2, 2, 1, 1] v = " + numbers(4, 7) + ", float[2] c = " + numbers(2, 8) +
                           ", float[2, 1, 1, 1] t = " + numbers(2, 9);
const std::string kBoth = "p = Conv (x, v, c) q = ConvTranspose (x, t) ";

TEST(FoldBatchNormAfterConcatTest, IntoEachProducer) {
  PassBench bench(
      normalized("float[1, 2, 3, 3]", "float[1, 3, 3, 3] y", kParts, kBoth + "h = Concat <axis = 1> (p, q)"));
  expect_fires(bench, fold_batch_norm_after_concat);
  EXPECT_EQ(bench.ops().find("BatchNormalization"), std::string::npos);
}

TEST(FoldBatchNormAfterConcatTest, SquareGemmScalesItsColumns) {
  PassBench bench(
      normalized("float[2, 2]", "float[2, 3] y",
                 "float[2, 2] v = " + numbers(4, 7) + ", float[1, 2] u = " + numbers(2, 8) + ", float[1] c = {0.5}",
                 "p = Gemm (x, v) q = Gemm <transB = 1> (x, u, c) h = Concat <axis = 1> (p, q)"));
  expect_fires(bench, fold_batch_norm_after_concat);
  EXPECT_EQ(bench.ops().find("BatchNormalization"), std::string::npos);
}

TEST(FoldBatchNormAfterConcatTest, KeepsOtherConcats) {
  const std::string bodies[] = {
      normalized("float[1, 2, 3, 3]", "float[1, 3, 3, 3] y, float[A, B, C, D] p", kParts,
                 kBoth + "h = Concat <axis = 1> (p, q)"),
      normalized("float[1, 2, 3, 3]", "float[1, 3, 3, 3] y", kParts,
                 kBoth + "r = Relu (p) h = Concat <axis = 1> (r, q)"),
      normalized("float[1, 1, 3, 3]", "float[1, 3, 3, 3] y", "float[2, 1, 1, 1] v = " + numbers(2, 7),
                 "p = Conv (x, v) h = Concat <axis = 1> (x, p)"),
      normalized("float[1, 2, 3, 3]", "float[1, 3, 3, 3] y, float[A, B, C, D] z", kParts,
                 kBoth + "h = Concat <axis = 1> (p, q) z = Relu (h)")};
  for (const std::string& body : bodies) {
    PassBench bench(body);
    bench.run(fold_batch_norm_after_concat);
    EXPECT_NE(bench.ops().find("BatchNormalization"), std::string::npos) << body;
  }
}

}  // namespace
}  // namespace quarkq::pass_tests
