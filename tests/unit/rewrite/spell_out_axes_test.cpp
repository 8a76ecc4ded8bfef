// SPDX-License-Identifier: MIT
// Pad and Resize with axes get lists for all dimensions; what is not known stays as it is.
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

constexpr int kOpset = 18;

std::string pad_of(const std::string& pads, const std::string& axes, const std::string& mode) {
  return cat("g (float[1, 2, 4, 5] x) => (float[A, B, C, D] y) <int64[2] axes = ", axes, ", int64[4] pads = ", pads,
             "> { y = Pad <mode = \"", mode, "\"> (x, pads, , axes) }");
}

TEST(SpellOutAxesTest, PadsAreWrittenForAllDimensions) {
  for (const char* mode : {"constant", "edge", "reflect"}) {
    PassBench bench(pad_of("{1, 0, 2, 1}", "{3, -2}", mode), kOpset);
    test::expect_fires(bench, spell_out_axes, 0);
    const ir::Node& pad = bench.node("Pad");
    EXPECT_FALSE(pad.input(3).valid());
    EXPECT_EQ(ir::to_int64(*bench.graph().constant(pad.input(1))).value(),
              (std::vector<int64_t>{0, 0, 0, 1, 0, 0, 1, 2}));
  }
}

TEST(SpellOutAxesTest, ScalesAndSizesOfResize) {
  const std::string head =
      "g (float[1, 2, 4, 5] x) => (float[A, B, C, D] y) <float[2] scales = {2, 1.5}, int64[2] sizes = {7, 9}> ";
  PassBench by_scale(head + "{ y = Resize <axes = [2, 3]> (x, , scales) }", kOpset);
  test::expect_fires(by_scale, spell_out_axes, 0);
  EXPECT_EQ(by_scale.node("Resize").find("axes"), nullptr);
  PassBench by_size(head + "{ y = Resize <axes = [-1, -2], mode = \"linear\"> (x, , , sizes) }", kOpset);
  test::expect_fires(by_size, spell_out_axes, 0);
  const ir::Node& resize = by_size.node("Resize");
  EXPECT_EQ(ir::to_int64(*by_size.graph().constant(resize.input(3))).value(), (std::vector<int64_t>{1, 2, 9, 7}));
}

TEST(SpellOutAxesTest, KeepsWhatItDoesNotKnow) {
  const char* const kBodies[] = {
      "g (float[1, 2, 4, 5] x, int64[4] pads) => (float[A, B, C, D] y) <int64[2] axes = {2, 3}> { y = Pad (x, pads, , "
      "axes) }",
      "g (float[1, 2, 4, 5] x) => (float[A, B, C, D] y) <int64[2] sizes = {7, 9}> { y = Resize <axes = [2, 3], "
      "keep_aspect_ratio_policy = \"not_larger\"> (x, , , sizes) }",
      "g (float[N, 2, 4, 5] x) => (float[A, B, C, D] y) <int64[2] sizes = {7, 9}> { y = Resize <axes = [2, 3]> (x, , , "
      "sizes) }",
      "g (float[1, 2, 4, 5] x) => (float[A, B, C, D] y) <int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}> { y = Pad (x, pads) "
      "}",
  };
  for (const char* body : kBodies) {
    SCOPED_TRACE(body);
    PassBench bench(body, kOpset);
    test::expect_idle(bench, spell_out_axes);
  }
}

}  // namespace
}  // namespace quarkq::pass_tests
