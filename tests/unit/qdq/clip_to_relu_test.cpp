// SPDX-License-Identifier: MIT
// Conversions by request: Clip into Relu, static shapes.
#include "pipeline/run/pass_runner.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_fires;
using test::expect_idle;
using test::PassBench;

std::string clip_qdq_with(const std::string& nodes) {
  return "g (float[8] x) => (float[8] y) <float zero = {0}, float below = {-1}, float above = {0.5}, float six = {6}> "
         "{" +
         nodes + "}";
}

TEST(ConvertClipToReluTest, ConvertsClipsFromZeroOn) {
  for (const char* nodes : {"y = Clip (x, zero, six)", "y = Clip (x, zero)", "l = Identity (zero) y = Clip (x, l, six)",
                            "l = Constant <value = float {0}> () y = Clip (x, l, six)"}) {
    PassBench bench(clip_qdq_with(nodes));
    bench.run(select_nodes);
    EXPECT_TRUE(bench.run(convert_clip_to_relu)) << nodes;
    EXPECT_EQ(bench.ops(), "Relu") << nodes;
    EXPECT_TRUE(bench.graph().initializers().empty());
    expect_idle(bench, convert_clip_to_relu);
  }
  PassBench old(test::model_of("g (float[8] x) => (float[8] y) { y = Clip <min = 0.0, max = 6.0> (x) }", 9));
  old.run(select_nodes);
  EXPECT_TRUE(old.run(convert_clip_to_relu));
}

TEST(ConvertClipToReluTest, KeepsOtherClips) {
  for (const char* nodes : {"y = Clip (x, below, six)", "y = Clip (x, above, six)", "y = Clip (x, , six)",
                            "l = ReduceMax <keepdims = 0> (x) y = Clip (x, l, six)"}) {
    PassBench bench(clip_qdq_with(nodes));
    bench.run(select_nodes);
    expect_idle(bench, convert_clip_to_relu);
  }
  PassBench unselected(clip_qdq_with("y = Clip (x, zero, six)"));
  expect_idle(unselected, convert_clip_to_relu);
}

const char* const kDynamic = "g (float[N, 3, H, W] x) => (float[N, 3, P, Q] y) { r = Relu (x) y = Neg (r) }";

PassBench* fix_bench(const std::string& shapes) {
  config::Settings settings = test::settings_for("A8W8");
  settings.runtime.fix_shapes = shapes;
  return new PassBench(test::model_of(kDynamic), settings);
}

TEST(FixShapesTest, WritesShapesAndWhatFollows) {
  const std::unique_ptr<PassBench> bench(fix_bench("x:[1,3,8, 8];y:[1,3,8,8]"));
  EXPECT_TRUE(bench->run(fix_shapes));
  for (const char* name : {"x", "r", "y"})
    EXPECT_EQ(bench->graph().value(bench->value(name)).type.shape(), (ir::Shape{1, 3, 8, 8})) << name;
  expect_idle(*bench, fix_shapes);
}

TEST(FixShapesTest, LeavesTheModelWhenTheRequestDoesNotFit) {
  for (const char* shapes : {"x:[1,3,8,8]", "x:[1,4,8,8];y:[1,3,8,8]", "x:[1,3,8];y:[1,3,8,8]"}) {
    const std::unique_ptr<PassBench> bench(fix_bench(shapes));
    expect_idle(*bench, fix_shapes);
    EXPECT_EQ(bench->diagnostics.all().back().id, "shapes-not-fixed");
  }
  const std::unique_ptr<PassBench> malformed(fix_bench("x=[1,3,8,8]"));
  EXPECT_EQ(pipeline::run_pass(malformed->context, fix_shapes).status().code(), Code::kInvalidArgument);
  PassBench off(kDynamic);
  expect_idle(off, fix_shapes);
}

}  // namespace
}  // namespace quarkq::pass_tests
