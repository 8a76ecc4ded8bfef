// SPDX-License-Identifier: MIT
// fuse_batch_norm_into_conv and its kin: every producer, every guard, and the float outputs.
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_fires;
using test::expect_idle;
using test::numbers;
using test::PassBench;

/// Initializers of a BatchNormalization over `channels`.
std::string norm_parameters(size_t channels) {
  return cat("float[", channels, "] gamma = ", numbers(channels, 21, 0.5, 2), ", float[", channels,
             "] beta = ", numbers(channels, 22), ", float[", channels, "] mean = ", numbers(channels, 23), ", float[",
             channels, "] var = ", numbers(channels, 24, 0.1, 3));
}

struct NormCase {
  const char* what;
  std::string inputs, outputs, weights, node;
  size_t channels;
};

std::string model_text(const NormCase& item) {
  return cat("g (", item.inputs, ") => (", item.outputs, ") <", item.weights, ", ", norm_parameters(item.channels),
             "> { ", item.node, " y = BatchNormalization <epsilon = 0.01> (c, gamma, beta, mean, var) }");
}

std::vector<NormCase> norm_cases() {
  const std::string image = "float[1, 4, 5, 6] x", y = "float[1, 6, A, B] y";
  return {
      {"Conv", image, y, cat("float[6, 4, 3, 3] w = ", numbers(216, 1), ", float[6] b = ", numbers(6, 2)),
       "c = Conv (x, w, b)", 6},
      {"Conv without bias", image, y, cat("float[6, 4, 3, 3] w = ", numbers(216, 1)), "c = Conv (x, w)", 6},
      {"grouped Conv", image, y, cat("float[6, 2, 3, 3] w = ", numbers(108, 3), ", float[6] b = ", numbers(6, 2)),
       "c = Conv <group = 2> (x, w, b)", 6},
      {"depthwise Conv", image, "float[1, 4, A, B] y", cat("float[4, 1, 3, 3] w = ", numbers(36, 4)),
       "c = Conv <group = 4, pads = [1,1,1,1]> (x, w)", 4},
      {"Conv over one dimension", "float[2, 4, 9] x", "float[2, 6, A] y", cat("float[6, 4, 3] w = ", numbers(72, 5)),
       "c = Conv (x, w)", 6},
      {"ConvTranspose", image, y, cat("float[4, 6, 2, 3] w = ", numbers(144, 6), ", float[6] b = ", numbers(6, 2)),
       "c = ConvTranspose <strides = [2,2]> (x, w, b)", 6},
      {"ConvTranspose with groups", image, y, cat("float[4, 3, 2, 3] w = ", numbers(72, 7)),
       "c = ConvTranspose <group = 2> (x, w)", 6},
      {"Gemm", "float[3, 5] x", "float[3, 7] y",
       cat("float[5, 7] w = ", numbers(35, 8), ", float[7] b = ", numbers(7, 9)), "c = Gemm (x, w, b)", 7},
      {"Gemm with transB", "float[3, 5] x", "float[3, 7] y",
       cat("float[7, 5] w = ", numbers(35, 10), ", float[7] b = ", numbers(7, 9)), "c = Gemm <transB = 1> (x, w, b)",
       7},
      {"square Gemm", "float[3, 5] x", "float[3, 5] y", cat("float[5, 5] w = ", numbers(25, 11)),
       "c = Gemm <transB = 0> (x, w)", 5},
      {"square Gemm with transB", "float[3, 5] x", "float[3, 5] y", cat("float[5, 5] w = ", numbers(25, 11)),
       "c = Gemm <transB = 1> (x, w)", 5},
  };
}

TEST(FuseBatchNormTest, FoldsIntoEveryProducer) {
  for (const NormCase& item : norm_cases()) {
    SCOPED_TRACE(item.what);
    PassBench bench(model_text(item));
    const std::string producer = bench.graph().node(bench.graph().order()[0]).op;
    expect_fires(bench, fuse_batch_norm, 2e-5);
    EXPECT_EQ(bench.ops(), producer);
    EXPECT_EQ(bench.graph().initializers().size(), 2u);  // weights and bias
    EXPECT_EQ(bench.node(producer).origins.size(), 2u);
  }
}

TEST(FuseBatchNormTest, SharedWeightsStayForOtherReaders) {
  PassBench bench(cat("g (float[1, 4, 5, 6] x) => (float[1, 6, A, B] y, float[1, 6, A, B] z) <float[6, 4, 3, 3] w = ",
                      numbers(216, 1), ", ", norm_parameters(6),
                      "> { z = Conv (x, w) c = Conv (x, w) y = BatchNormalization (c, gamma, beta, mean, var) }"));
  expect_fires(bench, fuse_batch_norm, 2e-5);
  EXPECT_EQ(bench.ops(), "Conv Conv");
}

/// A Conv and a BatchNormalization, of which parts can be replaced.
std::string guarded(const std::string& inputs, const std::string& outputs, const std::string& nodes) {
  return cat("g (float[1, 4, 5, 6] x", inputs, ") => (float[1, 6, A, B] y", outputs,
             ") <float[6, 4, 3, 3] w = ", numbers(216, 1), ", ", norm_parameters(6), "> { ", nodes, " }");
}

TEST(FuseBatchNormTest, KeepsConvsWithOtherReaders) {
  PassBench two_readers(guarded("", ", float[1, 6, A, B] z",
                                "c = Conv (x, w) y = BatchNormalization (c, gamma, beta, mean, var) z = Relu (c)"));
  expect_idle(two_readers, fuse_batch_norm);
  PassBench is_output(
      guarded("", ", float[1, 6, A, B] c", "c = Conv (x, w) y = BatchNormalization (c, gamma, beta, mean, var)"));
  expect_idle(is_output, fuse_batch_norm);
}

TEST(FuseBatchNormTest, NeedsConstantParameters) {
  for (const char* computed : {"gamma", "beta", "mean", "var"}) {
    std::string node = "c = Conv (x, w) y = BatchNormalization (c, gamma, beta, mean, var)";
    node.replace(node.rfind(computed), std::string(computed).size(), "p");
    PassBench bench(guarded(", float[6] p", "", node));
    expect_idle(bench, fuse_batch_norm);
  }
  PassBench weights(
      guarded(", float[6, 4, 3, 3] v", "", "c = Conv (x, v) y = BatchNormalization (c, gamma, beta, mean, var)"));
  expect_idle(weights, fuse_batch_norm);
  PassBench bias(guarded(", float[6] b", "", "c = Conv (x, w, b) y = BatchNormalization (c, gamma, beta, mean, var)"));
  expect_idle(bias, fuse_batch_norm);
}

TEST(FuseBatchNormTest, KeepsTrainingMode) {
  PassBench bench(
      guarded("", "", "c = Conv (x, w) y, m, v = BatchNormalization <training_mode = 1> (c, gamma, beta, mean, var)"));
  expect_idle(bench, fuse_batch_norm);
  PassBench one_output(
      guarded("", "", "c = Conv (x, w) y = BatchNormalization <training_mode = 1> (c, gamma, beta, mean, var)"));
  expect_idle(one_output, fuse_batch_norm);
}

TEST(FuseBatchNormTest, KeepsOtherProducersAndScaledGemms) {
  PassBench relu("g (float[1, 6, 5, 6] x) => (float[1, 6, 5, 6] y) <" + norm_parameters(6) +
                 "> { c = Relu (x) y = BatchNormalization (c, gamma, beta, mean, var) }");
  expect_idle(relu, fuse_batch_norm);
  PassBench input("g (float[1, 6, 5, 6] x) => (float[1, 6, 5, 6] y) <" + norm_parameters(6) +
                  "> { y = BatchNormalization (x, gamma, beta, mean, var) }");
  expect_idle(input, fuse_batch_norm);
  for (const char* attribute : {"alpha = 2.0", "beta = 2.0"}) {
    PassBench gemm(cat("g (float[3, 5] x) => (float[3, 6] y) <float[5, 6] w = ", numbers(30, 1),
                       ", float[6] b = ", numbers(6, 2), ", ", norm_parameters(6), "> { c = Gemm <", attribute,
                       "> (x, w, b) y = BatchNormalization (c, gamma, beta, mean, var) }"));
    expect_idle(gemm, fuse_batch_norm);
  }
}

TEST(FuseBatchNormTest, KeepsWhatWouldNotBeFinite) {
  PassBench bench(
      cat("g (float[1, 1, 3, 3] x) => (float[1, 1, 3, 3] y) <float[1, 1, 1, 1] w = {3e38}, float[1] gamma = {100.0}, ",
          "float[1] beta = {0.0}, float[1] mean = {0.0}, float[1] var = {1.0}> ",
          "{ c = Conv (x, w) y = BatchNormalization (c, gamma, beta, mean, var) }"));
  expect_idle(bench, fuse_batch_norm);
}

}  // namespace
}  // namespace quarkq::pass_tests
