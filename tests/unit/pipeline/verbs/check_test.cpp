// SPDX-License-Identifier: MIT
// check(): what the preset of the target writes passes it, what was changed afterwards does not, other files are
// refused.
#include "quarkq/check.h"

#include <nlohmann/json.hpp>

#include "onnx_io/save.h"
#include "pipeline/report/details.h"
#include "support/legalize_samples.h"
#include "support/random_graph.h"

namespace quarkq::pipeline {
namespace {

/// A model as the preset writes it.
ir::Model written(const ir::Model& model, const std::string& preset) {
  test::PassBench bench(model, test::settings_for(preset));
  const test::RandomSamples samples(bench.graph(), 3);
  bench.context.source.data = &samples;
  std::vector<PassTime> times;
  const Status done = run_passes(bench.context, {}, times, {});
  EXPECT_TRUE(done.ok()) << done.message();
  return bench.model;
}

class CheckRandomTest : public ::testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, CheckRandomTest, ::testing::Range(400u, 406u));

TEST_P(CheckRandomTest, WhatXint8WritesRespectsTheLimits) {
  test::RandomGraph graph(GetParam());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(graph.grow()) << graph.failure();
  graph.close();
  ir::Model model = graph.model();
  Diagnostics ignored;
  ASSERT_TRUE(onnx_io::infer_types(model, ignored).ok());
  const Result<CheckReport> report = check_limits(written(model, "XINT8"), "m.onnx", "xint8");
  ASSERT_TRUE(report.ok()) << report.status().message();
  for (const LimitViolation& one : report.value().violations) {
    ADD_FAILURE() << one.rule << " of " << one.tensor << " at " << one.node << ": " << one.measure << " " << one.found
                  << ", allowed " << one.low << " to " << one.high;
  }
}

class CheckTest : public ::testing::Test {
 protected:
  static ir::Model small(const std::string& preset) {
    static const std::string body =
        cat("g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) <float[3, 2, 1, 1] w = ", test::numbers(6, 1),
            ", float[3] b = ", test::numbers(3, 2), "> { c = Conv (x, w, b) y = Relu (c) }");
    return written(test::model_of(body), preset);
  }
};

TEST_F(CheckTest, FloatScalesAreNoPowersOfTwo) {
  const CheckReport report = check_limits(small("A8W8"), "m.onnx", "xint8").value();
  ASSERT_FALSE(report.violations.empty());
  size_t scales = 0;
  for (const LimitViolation& one : report.violations) {
    EXPECT_FALSE(one.remedy.empty());
    if (one.rule != "power_of_two") continue;
    ++scales;
    EXPECT_FALSE(one.has_limits);
    EXPECT_EQ(one.measure, "scale");
  }
  EXPECT_GT(scales, 0u);
  EXPECT_EQ(report.nodes, 2u) << "Conv and Relu, without Q/DQ";
}

TEST_F(CheckTest, BytesAreCheckedAsTheirFile) {
  const std::string bytes = onnx_io::to_bytes(small("XINT8"));
  const Result<CheckReport> report = check_bytes(bytes, "given", "xint8");
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report.value().model_path, "given");
  EXPECT_TRUE(report.value().violations.empty());
  EXPECT_GT(report.value().quantized_tensors, 2u);
}

TEST_F(CheckTest, OtherTargetsAndModelsAreRefused) {
  const std::string quantized = onnx_io::to_bytes(small("XINT8"));
  const std::string plain = onnx_io::to_bytes(test::model_of("g (float[2] x) => (float[2] y) { y = Relu (x) }"));
  struct Row {
    const std::string& bytes;
    const char *target, *said;
  };
  const Row rows[] = {{quantized, "xint9", "xint9: unknown target, did you mean xint8? (known: xint8)"},
                      {quantized, "", ": unknown target"},
                      {plain, "xint8", "m: has no quantized tensors to check"},
                      {plain, "other", "other: unknown target"}};
  for (const Row& row : rows) {
    const Result<CheckReport> refused = check_bytes(row.bytes, "m", row.target);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
    EXPECT_TRUE(refused.status().message().starts_with(row.said)) << refused.status().message();
  }
  EXPECT_FALSE(check_bytes("no model", "m").ok());
  EXPECT_FALSE(check("/nowhere/m.onnx").ok());
}

TEST_F(CheckTest, JsonHoldsTheReport) {
  CheckReport report{"m.onnx", "xint8", 3, 5, {}, {}};
  report.violations.push_back({"rule", "node n (Conv)", "t", "shift_cut", 17, true, 0, 16, "quantize again"});
  report.violations.push_back({"power_of_two", "", "t\xFF", "scale", NAN, false, 0, 0, "r"});
  const nlohmann::json json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["model"], "m.onnx");
  EXPECT_EQ(json["quantized_tensors"], 5);
  EXPECT_EQ(json["violations"][0]["allowed"], nlohmann::json({0, 16}));
  EXPECT_EQ(json["violations"][0]["found"], 17);
  EXPECT_TRUE(json["violations"][1]["allowed"].is_null());
  EXPECT_TRUE(json["violations"][1]["found"].is_null()) << "JSON has no NaN";
}

}  // namespace
}  // namespace quarkq::pipeline
