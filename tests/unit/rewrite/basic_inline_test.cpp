// SPDX-License-Identifier: MIT
// The basic optimizer: Gelu, the names of what a BatchNormalization went into, GroupNormalization.
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_fires;
using test::expect_idle;
using test::PassBench;

std::string inlined_gelu(const char* last) {
  return cat(
      "g (float[2, 3] x) => (float[2, 3] z) <float r = {1.41421354}, float one = {1.0}, float half = {0.5}> { "
      "e = Exp (x) d = Div (e, r) f = Erf (d) s = Add (f, one) ",
      last, " }");
}

TEST(BasicInlineTest, FusesTheHalvedGelu) {
  PassBench bench(inlined_gelu("m = Mul (e, s) y = Mul (m, half) z = Neg (y)"), 20);
  expect_fires(bench, optimize_basic);
  EXPECT_EQ(bench.ops(), "Exp Gelu Neg");
  EXPECT_EQ(bench.node("Gelu").name, "Gelu");
  EXPECT_EQ(bench.node("Gelu").domain, "");
  EXPECT_EQ(bench.node("Gelu").string_or("approximate", ""), "none");
}

TEST(BasicInlineTest, KeepsOtherGelus) {
  PassBench old(inlined_gelu("m = Mul (e, s) y = Mul (m, half) z = Neg (y)"), 19);
  expect_idle(old, optimize_basic);
  PassBench other(inlined_gelu("m = Mul (s, half) y = Mul (e, m) z = Neg (y)"), 20);
  expect_idle(other, optimize_basic);
  PassBench read_twice(inlined_gelu("m = Mul (e, s) y = Mul (m, half) z = Add (y, m)"), 20);
  expect_idle(read_twice, optimize_basic);
}

TEST(BasicInlineTest, NamesTellWhereABatchNormalizationWent) {
  PassBench bench(cat("g (float[1, 2, 3, 3] x) => (float[1, 3, 3, 3] z) <float[2, 3, 1, 1] w = ", test::numbers(6, 1),
                      ", float[3] b = ", test::numbers(3, 2), ", float[3] s = {1, 2, 3}, float[3] o = {0, 1, 2}",
                      ", float[3] m = {0.5, 0, 1}, float[3] v = {1, 2, 4}",
                      "> { c = ConvTranspose (x, w, b) n = BatchNormalization (c, s, o, m, v) z = Relu (n) }"));
  expect_fires(bench, optimize_basic, 1e-4);
  EXPECT_EQ(bench.ops(), "ConvTranspose Relu");
  const ir::Node& layer = bench.node("ConvTranspose");
  EXPECT_EQ(bench.graph().value(layer.input(1)).name, "ConvBnFusion_W_w");
  EXPECT_EQ(bench.graph().value(layer.input(2)).name, "ConvBnFusion_BN_B_o");
}

TEST(BasicInlineTest, GroupNormalizationIsSpelledOutInCompatModeOnly) {
  const std::string body = cat("g (float[2, 4, 3, 3] x) => (float[2, 4, 3, 3] z) <float[4] s = ", test::numbers(4, 1),
                               ", float[4] b = ", test::numbers(4, 2),
                               "> { y = GroupNormalization <num_groups = 2> (x, s, b) z = Relu (y) }");
  PassBench bench(test::model_of(body, 21, 10), test::settings_for("A8W8", {"quarkq.compat=quark-0.13"}));
  const ir::Model before = bench.model;
  EXPECT_TRUE(bench.run(optimize_basic));  // comes last there, so a second run would fold what it made
  test::expect_same_outputs(before, bench.model, 1e-4);
  EXPECT_TRUE(bench.graph().find("_inlfunc_GroupNormalization_StdDev").valid());
  PassBench own(test::model_of(body, 21, 10));
  expect_idle(own, optimize_basic);
}

}  // namespace
}  // namespace quarkq::pass_tests
