// SPDX-License-Identifier: MIT
// The hardware conversions: each fires, keeps the function, and is idle where it must be.
#include "pipeline/run/pass_runner.h"
#include "support/golden_algorithms.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_fires;
using test::expect_idle;
using test::numbers;
using test::PassBench;

config::Settings with_all_ops() {
  config::Settings settings = test::settings_for("A8W8");
  settings.selection.quantize_all_op_types = true;
  return settings;
}

struct AdaptBench : PassBench {
  explicit AdaptBench(const std::string& body, int opset = 17, bool compat = false)
      : PassBench(test::model_of(body, opset), with_all_ops()) {
    settings.compat = compat;
    run(select_nodes);
  }
};

TEST(ConvertReduceMeanTest, BecomesGlobalAveragePool) {
  AdaptBench bench("g (float[1, 3, 4, 5] x) => (float[1, 3, 1, 1] y) { y = ReduceMean <axes = [2, 3]> (x) }");
  expect_fires(bench, convert_reduce_mean_to_global_avg_pool);
  EXPECT_EQ(bench.ops(), "GlobalAveragePool");
  AdaptBench input("g (float[1, 3, 4, 5] x) => (float[1, 3, 1, 1] y) <int64[2] a = {2, 3}> { y = ReduceMean (x, a) }",
                   18);
  expect_fires(input, convert_reduce_mean_to_global_avg_pool);
  EXPECT_FALSE(input.graph().find("a").valid());
}

TEST(ConvertReduceMeanTest, KeepsOtherMeans) {
  for (const char* body :
       {"g (float[1, 3, 4, 5] x) => (float[N, C] y) { y = ReduceMean <axes = [2, 3], keepdims = 0> (x) }",
        "g (float[1, 3, 4, 5] x) => (float[N, C, H, W] y) { y = ReduceMean <axes = [3]> (x) }",
        "g (float[1, 3, 4, 5] x) => (float[N, C, H, W] y) { y = ReduceMean (x) }",
        "g (float[1, 3, 4, 5, 6] x) => (float[N, C, D, H, W] y) { y = ReduceMean <axes = [2, 3]> (x) }"}) {
    AdaptBench bench(body);
    expect_idle(bench, convert_reduce_mean_to_global_avg_pool);
  }
  AdaptBench unselected("g (float[1, 3, 4, 5] x) => (float[1, 3, 1, 1] y) { y = ReduceMean <axes = [2, 3]> (x) }");
  unselected.context.selection.op_types.clear();
  expect_idle(unselected, convert_reduce_mean_to_global_avg_pool);
}

std::string pool_of(int64_t height, int64_t width, const std::string& more = "") {
  return cat("g (float[1, 2, ", height, ", ", width, "] x) => (float[1, 2, 1, 1] y",
             more.empty() ? "" : ", float[1, 2, 1, 1] z", ") { r = Relu (x) y = GlobalAveragePool (r) ", more, " }");
}

TEST(SplitLargeKernelPoolTest, SplitsNearTheSquareRoots) {
  AdaptBench bench(pool_of(40, 24));
  expect_fires(bench, split_large_kernel_pool);
  EXPECT_EQ(bench.ops(), "Relu AveragePool GlobalAveragePool");
  EXPECT_EQ(bench.node("AveragePool").ints_or("kernel_shape", {}), (std::vector<int64_t>{5, 4}));
  EXPECT_EQ(bench.node("AveragePool").name, "r_Split");
}

TEST(SplitLargeKernelPoolTest, TakesTheRecordedFactors) {
  QQ_SKIP_WITHOUT_ALGORITHMS();
  for (const auto& [size, factors] : test::golden_algorithms()["split_large_pool_factors"].items()) {
    if (!factors.is_array() || std::stoll(size) <= 22) continue;  // smaller squares are not split at all
    AdaptBench bench(pool_of(std::stoll(size), std::stoll(size)));
    const int64_t first = factors[0], rest = factors[1];
    if (!bench.run(split_large_kernel_pool)) {
      EXPECT_TRUE(first * first > 512 || rest * rest > 512) << size;
      continue;
    }
    EXPECT_EQ(bench.node("AveragePool").ints_or("kernel_shape", {}), (std::vector<int64_t>{first, first})) << size;
  }
}

TEST(SplitLargeKernelPoolTest, OnePoolServesTwoReaders) {
  AdaptBench bench(pool_of(32, 32, "z = GlobalAveragePool (r)"));
  expect_fires(bench, split_large_kernel_pool);
  EXPECT_EQ(bench.ops(), "Relu AveragePool GlobalAveragePool GlobalAveragePool");
}

TEST(SplitLargeKernelPoolTest, KeepsSmallPrimeAndUnknownPools) {
  AdaptBench small(pool_of(16, 32));
  expect_idle(small, split_large_kernel_pool);
  AdaptBench prime(pool_of(23, 523));
  expect_idle(prime, split_large_kernel_pool);
  EXPECT_EQ(prime.diagnostics.all().back().id, "pool-not-split");
  AdaptBench input("g (float[1, 2, 40, 40] x) => (float[1, 2, 1, 1] y) { y = GlobalAveragePool (x) }");
  expect_idle(input, split_large_kernel_pool);
  AdaptBench dynamic("g (float[1, 2, H, 40] x) => (float[1, 2, 1, 1] y) { r = Relu (x) y = GlobalAveragePool (r) }");
  expect_idle(dynamic, split_large_kernel_pool);
}

TEST(ConvertSplitToSliceTest, OneSlicePerOutput) {
  AdaptBench bench(R"(g (float[1, 8, 2] x) => (float[1, 3, 2] a, float[1, 5, 2] b) <int64[2] s = {3, 5}> {
    a, b = Split <axis = 1> (x, s)
  })");
  expect_fires(bench, convert_split_to_slice);
  EXPECT_EQ(bench.ops(), "Constant Constant Constant Constant Constant Constant Constant Constant Slice Slice");
  EXPECT_EQ(bench.node("Slice").name, "a_0");
  EXPECT_TRUE(bench.graph().find("b_ends_1").valid());
  AdaptBench old("g (float[8] x) => (float[3] a, float[5] b) { a, b = Split <axis = 0, split = [3, 5]> (x) }", 11);
  expect_fires(old, convert_split_to_slice);
}

TEST(ConvertSplitToSliceTest, EqualPartsExceptInCompatMode) {
  const std::string body =
      "g (float[7] x) => (float[3] a, float[3] b, float[1] c, float[2] d) <int64[2] s = {2, 5}, int64 z = {0}> "
      "{ a, b, c = Split <num_outputs = 3> (x) d, e = Split (x, s) }";
  AdaptBench bench(body, 18);
  expect_fires(bench, convert_split_to_slice);
  EXPECT_EQ(bench.ops().find("Split"), std::string::npos);
  AdaptBench compat(body, 18, /*compat=*/true);
  compat.run(convert_split_to_slice);
  EXPECT_NE(compat.ops().find("Split"), std::string::npos);
  EXPECT_EQ(compat.ops().find("Slice"), std::string::npos);  // the one after it stays, too
}

TEST(ConvertSplitToSliceTest, KeepsWhatItCannotSay) {
  AdaptBench computed("g (float[8] x, int64[2] s) => (float[M] a, float[N] b) { a, b = Split (x, s) }");
  EXPECT_FALSE(computed.run(convert_split_to_slice));
  EXPECT_EQ(computed.ops(), "Split");
  AdaptBench dynamic("g (float[N] x) => (float[M] a, float[K] b) { a, b = Split <num_outputs = 2> (x) }", 18);
  EXPECT_FALSE(dynamic.run(convert_split_to_slice));
  AdaptBench old("g (float[8] x) => (float[3] a, float[5] b) { a, b = Split <split = [3, 5]> (x) }", 9);
  EXPECT_FALSE(old.run(convert_split_to_slice));
}

std::string norm_of(const std::string& input, const std::string& attributes, const std::string& output = "y") {
  return cat("g (float[1, 2, 3, 3] x) => (float[1, 2, 3, 3] y) <float[2] ga = {1.5, 0.5}, float[2] be = {0.1, -0.2}, ",
             "float[2] me = {0.3, 0.4}, float[2] va = {2, 0.25}> { r = Relu (x) ", output, " = BatchNormalization ",
             attributes, " (", input, ", ga, be, me, va) }");
}

TEST(ConvertBnToConvTest, BecomesDepthwiseConv) {
  AdaptBench bench(norm_of("r", "<epsilon = 0.001>"));
  expect_fires(bench, convert_bn_to_conv);
  EXPECT_EQ(bench.ops(), "Relu Conv");
  EXPECT_EQ(bench.node("Conv").int_or("group", 1), 2);
  QQ_SKIP_WITHOUT_ALGORITHMS();
  for (const auto& [name, values] : test::golden_algorithms()["bn_to_conv"]["out"].items())
    test::expect_stored(bench.graph(), name, values);
}

TEST(ConvertBnToConvTest, AddsTheOpTypeWhateverItConverts) {
  PassBench bench(test::model_of(norm_of("x", "")));
  bench.run(select_nodes);
  EXPECT_FALSE(bench.context.selection.op_types.contains("BatchNormalization"));
  bench.run(convert_bn_to_conv);
  EXPECT_TRUE(bench.context.selection.op_types.contains("BatchNormalization"));
  EXPECT_NE(bench.ops().find("BatchNormalization"), std::string::npos);  // reads the model's input
}

TEST(ConvertBnToConvTest, KeepsOtherNormalizations) {
  AdaptBench vectors(
      "g (float[4, 2] x) => (float[4, 2] y) <float[2] p = {1, 2}> "
      "{ r = Relu (x) y = BatchNormalization (r, p, p, p, p) }");
  EXPECT_FALSE(vectors.run(convert_bn_to_conv));
  AdaptBench computed(
      "g (float[1, 2, 3, 3] x, float[2] q) => (float[1, 2, 3, 3] y) <float[2] p = {1, 2}> "
      "{ r = Relu (x) y = BatchNormalization (r, q, p, p, p) }");
  EXPECT_FALSE(computed.run(convert_bn_to_conv));
}

}  // namespace
}  // namespace quarkq::pass_tests
