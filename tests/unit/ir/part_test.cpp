// SPDX-License-Identifier: MIT
// A part computes what the whole graph computes, from the values in between.
#include "ir/parts.h"

#include "support/pass_support.h"

namespace quarkq::ir {
namespace {

Model chain() {
  return test::model_of(
      cat("g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y, float[1, 2, 4, 4] z) <float[2, 2, 1, 1] w = ",
          test::numbers(4, 1), ", float[2] b = ", test::numbers(2, 2),
          "> { a = Conv (x, w, b) r = Relu (a) c = Conv (r, w, b) y = Sigmoid (c) z = Add (r, y) }"));
}

TEST(PartTest, HasOnlyTheNodesThatAreNeeded) {
  const Model model = chain();
  const Part part = part_of(model.graph, {model.graph.find("r")}, {model.graph.find("c")});
  EXPECT_EQ(test::ops_of(part.graph), "Conv");
  EXPECT_EQ(verify(part.graph).message(), "");
  EXPECT_EQ(part.graph.inputs(), part.feeds);
  EXPECT_EQ(part.graph.value(part.fetches[0]).name, "c");
  const Tensor &whole = *model.graph.value(model.graph.find("w")).constant,
               &shared = *part.graph.value(part.graph.find("w")).constant;
  EXPECT_EQ(whole.raw(), shared.raw()) << "weights are shared";
}

TEST(PartTest, ComputesTheSame) {
  const Model model = chain();
  const Part first = part_of(model.graph, {model.graph.find("x")}, {model.graph.find("r")});
  const Part second = part_of(model.graph, {model.graph.find("r")}, {model.graph.find("z"), model.graph.find("y")});
  Model part = model;
  part.graph = first.graph;
  const std::vector<Tensor> middle = test::run_model(part);
  exec::SessionOptions options;
  options.feeds = second.feeds;
  options.fetches = second.fetches;
  exec::Session session(second.graph, model.opsets, {}, std::move(options));
  const auto found = session.run(middle);
  ASSERT_TRUE(found.ok()) << found.status().message();
  const std::vector<Tensor> wanted = test::run_model(model);
  EXPECT_TRUE((*found.value())[0].same_as(wanted[1]));
  EXPECT_TRUE((*found.value())[1].same_as(wanted[0]));
}

TEST(PartTest, ValuesThatNothingMakesBecomeInputs) {
  const Model model = chain();
  const Part part = part_of(model.graph, {}, {model.graph.find("a")});
  ASSERT_EQ(part.graph.inputs().size(), 1u);
  EXPECT_EQ(part.graph.value(part.graph.inputs()[0]).name, "x");
}

}  // namespace
}  // namespace quarkq::ir
