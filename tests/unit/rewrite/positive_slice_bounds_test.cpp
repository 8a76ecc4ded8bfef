// SPDX-License-Identifier: MIT
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

/// torch.roll along axis 2 of a tensor of `dims`.
ir::Model roll(const std::string& type, const std::string& dims, const std::string& steps) {
  return test::model_of(
      cat("g (float[", dims, "] x) => (float[", dims, "] y) <", type, "[1] a = {-2}, ", type, "[1] b = {2147483647}, ",
          type, "[1] c = {0}, ", type, "[1] d = {-2}, ", type, "[1] k = {2}, ", type, "[1] s = {", steps,
          "}> { p = Slice (x, a, b, k, s) q = Slice (x, c, d, k, s) ", "y = Concat <axis = 2> (p, q) }"));
}

std::vector<int64_t> bounds(const PassBench& bench, const char* output, size_t input) {
  const ir::Node* slice = bench.graph().producer(bench.graph().find(output));
  return ir::to_int64(*bench.graph().constant(slice->input(input))).value();
}

TEST(PositiveSliceBoundsTest, CountsFromTheFront) {
  for (const char* type : {"int64", "int32"}) {
    PassBench bench(roll(type, "1, 4, 7, 8", "1"));
    test::expect_fires(bench, positive_slice_bounds, 0);
    EXPECT_EQ(bench.ops(), "Slice Slice Concat");
    EXPECT_EQ(bounds(bench, "p", 1), std::vector<int64_t>{5});
    EXPECT_EQ(bounds(bench, "p", 2), std::vector<int64_t>{2147483647});
    EXPECT_EQ(bounds(bench, "q", 1), std::vector<int64_t>{0});
    EXPECT_EQ(bounds(bench, "q", 2), std::vector<int64_t>{5});
    test::expect_idle(bench, positive_slice_bounds);
  }
}

TEST(PositiveSliceBoundsTest, BeyondTheFrontIsTheFront) {
  PassBench bench(test::model_of(
      "g (float[3, 4] x) => (float[3, 2] y) <int64[2] a = {-9, 1}, int64[2] b = {3, -1}> { y = Slice (x, a, b) }"));
  test::expect_fires(bench, positive_slice_bounds, 0);
  EXPECT_EQ(bounds(bench, "y", 1), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(bounds(bench, "y", 2), (std::vector<int64_t>{3, 3}));
}

TEST(PositiveSliceBoundsTest, KeepsWhatItCannotCount) {
  PassBench backwards(roll("int64", "1, 4, 7, 8", "-1"));
  test::expect_idle(backwards, positive_slice_bounds);
  PassBench unknown(roll("int64", "1, 4, H, 8", "1"));
  test::expect_idle(unknown, positive_slice_bounds);
  PassBench fed(test::model_of(
      "g (float[3] x, int64[1] a) => (float[N] y) <int64[1] a = {-2}, int64[1] b = {3}> { y = Slice (x, a, b) }"));
  test::expect_idle(fed, positive_slice_bounds);
}

}  // namespace
}  // namespace quarkq::pass_tests
