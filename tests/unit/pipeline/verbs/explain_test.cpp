// SPDX-License-Identifier: MIT
// explain(): by the name of a tensor or a node, of the model as it was loaded or as it was planned.
#include "quarkq/inspect.h"

#include <nlohmann/json.hpp>

#include "onnx_io/save.h"
#include "support/pass_support.h"
#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

class ExplainTest : public ::testing::Test {
 protected:
  void SetUp() override { save("[odd] z = Sin (y)"); }
  void save(const std::string& last) {
    const std::string body =
        cat("g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] z) <float[3, 2, 1, 1] w = ", test::numbers(6, 1),
            ", float[3] s = {1, 2, 3}, float[3] o = {0, 1, 0}, float[3] m = {0, 0, 1}, float[3] v = {1, 1, 2}> "
            "{ [conv] c = Conv (x, w) [norm] n = BatchNormalization (c, s, o, m, v) [act] y = Relu (n) ",
            last, " }");
    ASSERT_TRUE(onnx_io::save(test::model_of(body), path).ok());
  }
  Result<ExplainReport> ask(const std::string& name, const std::vector<std::string>& settings = {}) {
    return explain({path, "A8W8", settings, name});
  }

  test::TempFolder folder;
  std::string path = folder / "m.onnx";
};

TEST_F(ExplainTest, ATensorHasItsOutcomeAndTheStepsToIt) {
  const Result<ExplainReport> report = ask("y");
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report.value().tensors.size(), 1u);
  EXPECT_EQ(report.value().tensors[0].name, "y");
  EXPECT_TRUE(report.value().tensors[0].outcome.starts_with("activation")) << report.value().tensors[0].outcome;
  EXPECT_FALSE(report.value().tensors[0].steps.empty());
  EXPECT_EQ(report.value().note, "");
}

TEST_F(ExplainTest, ANodeMeansItsTensorsOnceEach) {
  const Result<ExplainReport> report = ask("conv");
  ASSERT_TRUE(report.ok()) << report.status().message();
  std::vector<std::string> names;
  for (const ExplainedTensor& one : report.value().tensors) names.push_back(one.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_TRUE(std::find(names.begin(), names.end(), "x") != names.end());
}

TEST_F(ExplainTest, WhatPreprocessingMadeOfANodeIsSaid) {
  const Result<ExplainReport> report = ask("norm");
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report.value().note.starts_with("node norm (BatchNormalization) became ")) << report.value().note;
  EXPECT_TRUE(report.value().note.ends_with(" (Conv) in preprocessing")) << report.value().note;
  EXPECT_FALSE(report.value().tensors.empty());
}

TEST_F(ExplainTest, ExcludedAndUnknownOperatorsStayFloat) {
  const auto outcome = [&](const std::vector<std::string>& settings) {
    const Result<ExplainReport> report = ask("z", settings);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() && !report.value().tensors.empty() ? report.value().tensors[0].outcome : "";
  };
  EXPECT_EQ(outcome({}), "float");
  save("[odd] z = Sigmoid (y)");
  EXPECT_NE(outcome({}), "float");
  EXPECT_EQ(outcome({"nodes_to_exclude=[odd]"}), "float");
}

TEST_F(ExplainTest, NamesThatAreNoneGetTheNearest) {
  const Result<ExplainReport> report = ask("convv");
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(report.status().message(), "--why convv: no tensor or node of the model has this name, did you mean conv?");
  EXPECT_FALSE(explain({path, "UINT8_DYNAMIC_QUANT", {}, "y"}).ok());
}

TEST_F(ExplainTest, JsonHoldsTheReport) {
  ExplainReport report{"m.onnx", "y", {{"y", "activation INT8", {{"marker", "said \"so\""}}}}, "a note"};
  const nlohmann::json json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["model"], "m.onnx");
  EXPECT_EQ(json["note"], "a note");
  EXPECT_EQ(json["tensors"][0]["outcome"], "activation INT8");
  EXPECT_EQ(json["tensors"][0]["steps"][0]["rule"], "marker");
  EXPECT_EQ(json["tensors"][0]["steps"][0]["text"], "said \"so\"");
}

}  // namespace
}  // namespace quarkq
