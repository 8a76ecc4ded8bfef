// SPDX-License-Identifier: MIT
// check_target(): goals, JSON, the page, and what is refused.
#include "quarkq/check.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "onnx_io/save.h"
#include "support/target_models.h"
#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

using nlohmann::json;

constexpr const char kFloat[] =
    "g (float[1, 4] x, float[4, 4] v) => (float[1, 4] y) { a = MatMul(x, v) b = Softplus(a) c = MatMul(b, v) y = "
    "Relu(c) }";

struct Saved {
  test::TempFolder folder;
  std::string path;
  explicit Saved(const std::string& body) : path(folder / "m.onnx") {
    EXPECT_TRUE(onnx_io::save(test::target_model(body), path).ok());
  }
};

TargetReport checked(const std::string& body, const TargetCheckOptions& options) {
  const Saved saved(body);
  const Result<TargetReport> report = check_target(saved.path, options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.ok() ? report.value() : TargetReport{};
}

TEST(CheckTargetTest, GoalsAreComparedWithWhatIsKnown) {
  // Softplus is unknown for bf16: 3 of 4 operators, 2 regions.
  EXPECT_TRUE(checked(kFloat, {.target = "vaiml-bf16"}).missed.empty());
  EXPECT_TRUE(checked(kFloat, {.target = "vaiml-bf16", .min_npu = 0.75, .max_partitions = 2}).missed.empty());
  const TargetReport missed = checked(kFloat, {.target = "vaiml-bf16", .min_npu = 0.76, .max_partitions = 1});
  ASSERT_EQ(missed.missed.size(), 2u);
  EXPECT_NE(missed.missed[0].find("75.0 %"), std::string::npos) << missed.missed[0];
  EXPECT_NE(missed.missed[1].find("2 regions"), std::string::npos) << missed.missed[1];
}

TEST(CheckTargetTest, ABlockedModelMeetsNoGoal) {
  const std::string body = "g (float[H, 4] x, float[4, H] w) => (float[H, H] y) { y = MatMul(x, w) }";
  const TargetReport report = checked(body, {.target = "gen2-bf16", .max_partitions = 5});
  EXPECT_EQ(report.verdict, "blocked");
  ASSERT_EQ(report.missed.size(), 1u);
  EXPECT_NE(report.missed[0].find("nothing would run"), std::string::npos);
}

TEST(DeployabilityTest, NamesWhatNoSourceStates) {
  TargetReport report;
  report.target = "x2";
  report.counts.total = report.counts.npu = 40;
  report.counts.regions = 1;
  EXPECT_EQ(text(deployability(report)), "deployable on x2: yes, 40 of 40 nodes");
  const auto add = [&](const char* rule, TargetEffect effect) {
    TargetFinding finding;
    finding.reason.rule = rule;
    finding.reason.effect = effect;
    report.findings.push_back(finding);
  };
  add("opset-other", TargetEffect::kNote);
  EXPECT_EQ(text(deployability(report)), "deployable on x2: yes, 40 of 40 nodes") << "a note is known";
  add("per-channel-scale", TargetEffect::kUnknown);
  const Deployability found = deployability(report);
  EXPECT_EQ(found.holds, Deployability::Holds::kYes);
  EXPECT_EQ(found.why, "no source states whether x2 takes scales per channel");
  EXPECT_EQ(text(found), "deployable on x2: yes, 40 of 40 nodes; " + found.why);
  add("batch-above-1", TargetEffect::kUnknown);
  EXPECT_NE(deployability(report).why.find("scales per channel, "), std::string::npos);
  add("lstm", TargetEffect::kCrash);
  EXPECT_EQ(deployability(report).holds, Deployability::Holds::kNo) << "what is known counts first";
}

TEST(CheckTargetTest, JsonHasEveryPart) {
  const json found = json::parse(to_json(checked(kFloat, {.target = "vaiml-bf16"})));
  EXPECT_EQ(found["verdict"], "unknown");
  EXPECT_EQ(found["predicted"]["npu"], 3);
  EXPECT_EQ(found["predicted"]["cpu"], 1);
  EXPECT_EQ(found["predicted"]["subgraphs"], 2);
  EXPECT_EQ(found["if_unknown_runs"]["npu"], 4);
  EXPECT_EQ(found["operators"]["unknown"], 1);
  EXPECT_EQ(found["nodes"].size(), 4u);
  EXPECT_EQ(found["nodes"][1]["verdict"], "unknown");
  EXPECT_TRUE(found["nodes"][1]["region"].is_null());
  EXPECT_EQ(found["regions"][0]["ops"]["MatMul"], 1);
  EXPECT_EQ(found["fallbacks"][0]["op"], "Softplus");
  EXPECT_EQ(found["macs"], 32);
  EXPECT_DOUBLE_EQ(found["predicted"]["mac_share"], 1);
}

TEST(CheckTargetTest, ThePageEscapesNames) {
  ir::Model model = test::target_model(kFloat);
  ir::GraphEdit(model.graph).node(model.graph.order()[0]).name = "<script>&";
  const TargetReport report = test::assessed(model, "vaiml-bf16");
  const std::string page = html_page(report);
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;&amp;"), std::string::npos);
  for (const char* part : {"Verdict: unknown", "<h2>Regions</h2>", "<h2>What does not run</h2>", "<svg"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
}

TEST(CheckTargetTest, ThePageOfNothingIsAPage) {
  const std::string page = html_page(TargetReport{});
  EXPECT_EQ(page.find("<!DOCTYPE html>"), 0u);
  EXPECT_NE(page.find("</html>"), std::string::npos);
}

TEST(CheckTargetTest, RefusesUnknownTargetsBeforeReadingTheModel) {
  const Result<TargetReport> report = check_target("nowhere.onnx", {.target = "x3"});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Code::kInvalidArgument);
  EXPECT_NE(report.status().message().find("x3"), std::string::npos);
}

TEST(CheckTargetTest, RefusesModelsAsLoadingDoes) {
  const Result<TargetReport> report = check_target("nowhere.onnx", {.target = "x2"});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace quarkq
