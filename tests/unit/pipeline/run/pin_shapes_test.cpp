// SPDX-License-Identifier: MIT
// Shapes of inputs that the settings fix: what is written, what is refused, and what follows for other tensors.
#include "pipeline/run/model_interface.h"

#include "support/pass_support.h"

namespace quarkq::pipeline {
namespace {

struct Pinned {
  ir::Model model;
  Status status;
  Diagnostics diagnostics;

  Pinned(const std::string& body, std::vector<std::string> sets) : model(test::model_of(body)) {
    sets.insert(sets.begin(), "target=none");
    const Result<config::QuantConfig> config = config::load_config("A8W8", sets);
    EXPECT_TRUE(config.ok()) << config.status().message();
    if (config.ok()) status = pin_shapes(model, config.value().legalize, diagnostics);
  }
  std::string shape(const std::string& name) const {
    std::vector<std::string> dims;
    for (const ir::Dim& dim : model.graph.value(model.graph.find(name)).type.dims)
      dims.push_back(dim.known() ? cat(dim.size) : dim.symbol.empty() ? "?" : dim.symbol);
    return join(dims, ",");
  }
};

const char* const kTwoInputs =
    "g (float[N, 3, H, W] x, float[N, 8] z) => (float[N, 3, H, W] y, float[N, 8] v) { a = Relu (x) y = Neg (a) v = Abs "
    "(z) }";

void expect_refused(const std::vector<std::string>& sets, const std::vector<std::string>& words) {
  const Pinned refused(kTwoInputs, sets);
  ASSERT_FALSE(refused.status.ok());
  EXPECT_EQ(refused.status.code(), Code::kInvalidArgument);
  for (const std::string& word : words)
    EXPECT_NE(refused.status.message().find(word), std::string::npos) << refused.status.message();
  EXPECT_EQ(refused.shape("x"), "N,3,H,W");
}

TEST(PinShapesTest, NothingIsSet) {
  const Pinned same(kTwoInputs, {});
  EXPECT_TRUE(same.status.ok());
  EXPECT_EQ(same.shape("x"), "N,3,H,W");
  EXPECT_TRUE(same.diagnostics.all().empty());
}

TEST(PinShapesTest, ShapesOfInputsReachEveryTensor) {
  const Pinned pinned(kTwoInputs, {"legalize.shapes={x: [2, 3, 8, 6], z: [2, 8]}"});
  ASSERT_TRUE(pinned.status.ok()) << pinned.status.message();
  for (const char* name : {"x", "a", "y"}) EXPECT_EQ(pinned.shape(name), "2,3,8,6") << name;
  EXPECT_EQ(pinned.shape("v"), "2,8");
  EXPECT_EQ(pinned.diagnostics.all().size(), 2U);
  EXPECT_EQ(pinned.diagnostics.all()[0].id, "shape-set");
  EXPECT_EQ(pinned.diagnostics.all()[0].text, "[N,3,H,W] becomes [2,3,8,6]");
}

TEST(PinShapesTest, OutputsThatTheFileDeclaresWronglyAreCorrected) {
  const Pinned pinned("g (float[N, 3] x) => (float[1, 3] y) { y = Relu (x) }", {"legalize.shapes={x: [2, 3]}"});
  ASSERT_TRUE(pinned.status.ok()) << pinned.status.message();
  EXPECT_EQ(pinned.shape("y"), "2,3");
}

TEST(PinShapesTest, TheBatchIsTheFirstDimensionWhereItIsNoNumber) {
  const Pinned pinned(kTwoInputs, {"legalize.batch=4"});
  ASSERT_TRUE(pinned.status.ok()) << pinned.status.message();
  EXPECT_EQ(pinned.shape("x"), "4,3,H,W");
  EXPECT_EQ(pinned.shape("v"), "4,8");
  const Pinned number("g (float[2, 3] x) => (float[2, 3] y) { y = Relu (x) }", {"legalize.batch=4"});
  ASSERT_TRUE(number.status.ok());
  EXPECT_EQ(number.shape("x"), "2,3");
  EXPECT_TRUE(number.diagnostics.all().empty());
}

TEST(PinShapesTest, AShapeIsStrongerThanTheBatch) {
  const Pinned pinned(kTwoInputs, {"legalize.batch=4", "legalize.shapes={x: [1, 3, 8, 6]}"});
  ASSERT_TRUE(pinned.status.ok()) << pinned.status.message();
  EXPECT_EQ(pinned.shape("y"), "1,3,8,6");
  EXPECT_EQ(pinned.shape("z"), "4,8");
}

TEST(PinShapesTest, AnInputOfUnknownRankTakesAnyShape) {
  const Pinned pinned("g (float[] x) => (float[] y) { y = Relu (x) }", {"legalize.shapes={x: [2, 3]}"});
  ASSERT_TRUE(pinned.status.ok()) << pinned.status.message();
  EXPECT_EQ(pinned.shape("y"), "2,3");
}

/// What the file states for outputs and inner values named a dimension that is a number now.
TEST(PinShapesTest, SymbolsOfOutputsAreForgotten) {
  const Pinned pinned("g (float[N, 4] x) => (float[M, K] y) { y = Relu (x) }", {"legalize.shapes={x: [2, 4]}"});
  ASSERT_TRUE(pinned.status.ok()) << pinned.status.message();
  EXPECT_EQ(pinned.shape("y"), "2,4");
}

TEST(PinShapesTest, RefusesUnknownInputsWithASuggestion) {
  expect_refused({"legalize.shapes={xx: [2, 3, 8, 6]}"}, {"xx", "not an input of the model", "x, z"});
  expect_refused({"legalize.shapes={a: [2, 3, 8, 6]}"}, {"not an input of the model"});  // an inner value
}

TEST(PinShapesTest, RefusesWhatContradictsTheModel) {
  expect_refused({"legalize.shapes={x: [2, 4, 8, 6]}"}, {"x=2,4,8,6", "[N,3,H,W]", "a number cannot be changed"});
  expect_refused({"legalize.shapes={x: [2, 3, 8]}"}, {"x=2,3,8", "[N,3,H,W]"});
}

TEST(PinShapesTest, SettingsRefuseSizesBelowOne) {
  for (const char* set :
       {"legalize.shapes={x: [0, 3]}", "legalize.shapes={x: [-1, 3]}", "legalize.shapes=3", "legalize.batch=0"}) {
    const Result<config::QuantConfig> config = config::load_config("A8W8", {set});
    ASSERT_FALSE(config.ok()) << set;
    EXPECT_EQ(config.status().code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace quarkq::pipeline
