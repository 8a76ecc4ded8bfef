// SPDX-License-Identifier: MIT
// Numbers that no tensor has, on values of unknown rank: passes leave such nodes alone. Loading refuses many of them,
// but passes also see what other passes made, and ranks that only contradict one another.
#include "pipeline/run/pass_runner.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

/// `body` reads "x", of unknown rank, and writes "z".
std::string unknown_rank(const std::string& body, const std::string& constants = "") {
  const std::string list = constants.empty() ? "" : " <" + constants + ">";
  return "g (float[2, 3, 4] input, int64[n] shape) => (float[m] y)" + list + " { x = Reshape (input, shape) " + body +
         " flat = Constant <value_ints = [-1]> () y = Reshape (z, flat) }";
}

class HostileAttributesTest : public ::testing::TestWithParam<std::string> {};

TEST_P(HostileAttributesTest, AreLeftAlone) {
  for (const PassBench::Pass& pass :
       {PassBench::Pass(simplify_model), PassBench::Pass(optimize_basic), PassBench::Pass(fuse_pad_into_conv),
        PassBench::Pass(fuse_layer_norm), PassBench::Pass(fuse_l2_norm), PassBench::Pass(fold_batch_norm),
        PassBench::Pass(convert_split_to_slice), PassBench::Pass(convert_reduce_mean_to_global_avg_pool)}) {
    PassBench bench(GetParam());
    bench.run(pass);
  }
}

const std::string kTwo = "[t] a = Transpose <perm = [0, 1073741824]> (x) b = Relu (a) [u] z = Transpose ";

INSTANTIATE_TEST_SUITE_P(
    Models, HostileAttributesTest,
    ::testing::Values(
        unknown_rank(kTwo + "<perm = [0, 1073741824]> (b)"), unknown_rank(kTwo + "<perm = [0, -1048576]> (b)"),
        unknown_rank(kTwo + "<perm = [1, 200]> (b)"), unknown_rank(kTwo + "<perm = [1, 0]> (b)"),
        unknown_rank("a = Transpose <perm = [1, 0]> (x) b = Concat <axis = 0> (a, c) z = Transpose <perm = [1, 0]> (b)",
                     "float[3] c = {1, 2, 3}"),
        unknown_rank("a = Transpose <perm = [1, 0]> (x) b = Transpose <perm = [2, 1, 0, 3]> (x) "
                     "c = Concat <axis = 0> (b, a) z = Transpose <perm = [1, 0, 2, 3]> (c)"),
        unknown_rank("a = Transpose <perm = [1, 0]> (x) b = Transpose <perm = [2, 1, 0, 3]> (x) "
                     "c = Add (a, b) z = Transpose <perm = [1, 0, 2, 3]> (c)"),
        unknown_rank("a = Transpose <perm = [1, 0]> (x) b = Softmax <axis = 4611686018427387904> (a) "
                     "z = Transpose <perm = [1, 0]> (b)"),
        unknown_rank("a = Concat <axis = 9223372036854775807> (x, x) "
                     "z = Concat <axis = 9223372036854775807> (a, x)"),
        unknown_rank("a = Unsqueeze (x, p) b = Unsqueeze (a, p) z = Squeeze (b, p)",
                     "int64[1] p = {9223372036854775807}"),
        unknown_rank("a, b = Split <axis = 0> (x, p) z = Add (a, b)",
                     "int64[2] p = {9223372036854775807, 9223372036854775807}"),
        unknown_rank("a = Pad (x, p) z = Conv <pads = [1, 1, 1, 1]> (a, w)",
                     "int64[8] p = {0, 0, 9223372036854775807, 1, 0, 0, 1, 1}, float[1, 1, 1, 1] w = {1}"),
        unknown_rank("a = ReduceMean <axes = [9223372036854775807]> (x) z = Sub (x, a)")));

TEST(HostileShapesTest, ProductsThatOverflowAreNoGemm) {
  const std::string body =
      "g (float[1099511627776, 1099511627776, 2] x) => (float[1099511627776, 1099511627776, 2] y) "
      "<float[2, 2] w = {1, 2, 3, 4}, float[2] b = {1, 2}> { a = MatMul (x, w) y = Add (a, b) }";
  for (const PassBench::Pass& pass : {PassBench::Pass(simplify_model), PassBench::Pass(optimize_basic)}) {
    PassBench bench(body);
    bench.run(pass);
    EXPECT_EQ(bench.node("MatMul").op, "MatMul");
  }
}

}  // namespace
}  // namespace quarkq::pass_tests
