// SPDX-License-Identifier: MIT
// The reports of tune() and plan_tuning() as JSON, for scripts.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "quarkq/tune.h"

namespace quarkq {
namespace {

using Json = nlohmann::json;

TuneReport example() {
  TuneReport report;
  report.model_path = "m.onnx", report.output_path = "out.onnx", report.settings_path = "out.yaml";
  report.metric = "top1", report.unit = "share", report.float_value = 0.8125, report.goal = "drop<=0.5%";
  Trial plain;
  plain.step = "plain", plain.name = "plain", plain.settings = {"quarkq.on_collapse=warn"};
  plain.value = 0.63, plain.cosine = 0.86, plain.bytes = 1000, plain.seconds = 2;
  Trial failed;
  failed.step = "ranges", failed.name = "ranges: Entropy", failed.why_not = "it takes no such method";
  Trial best = plain;
  best.step = "rescued", best.name = "rescued", best.value = 0.8125, best.is_pareto = best.is_reused = true;
  best.deployable = {"x1", Deployability::Holds::kYes, "", "", 20, 22, 1};
  report.trials = {plain, failed, best};
  report.trials[2].interval = {0.75, 0.87}, report.trials[2].is_accepted = true;
  report.trials[2].gain = {0.1825, {0.1, 0.26}, 1e-6};
  report.best = 2, report.is_met = true, report.seconds = 5;
  return report;
}

TEST(TuneJsonTest, HasTheTrialsAndWhichIsBest) {
  const Json json = Json::parse(to_json(example()));
  EXPECT_EQ(json["metric"], Json({{"name", "top1"}, {"unit", "share"}, {"better", "higher"}}));
  EXPECT_EQ(json["met"], true);
  EXPECT_EQ(json["timed_out"], false);
  EXPECT_EQ(json["float_value"], 0.8125);
  EXPECT_TRUE(json["float_interval"].is_null() && json["change"].is_null());
  EXPECT_EQ(json["not_enough_samples"], false);
  ASSERT_EQ(json["trials"].size(), 3u);
  const Json& best = json["trials"][json["best"].get<size_t>()];
  EXPECT_EQ(best["name"], "rescued");
  EXPECT_EQ(best["deployable"]["nodes"], 20);
  EXPECT_EQ(best["interval"], Json({{"low", 0.75}, {"high", 0.87}}));
  EXPECT_EQ(best["gain"], Json({{"value", 0.1825}, {"low", 0.1}, {"high", 0.26}, {"mcnemar", 1e-6}}));
  EXPECT_TRUE(best["accepted"].get<bool>() && !json["trials"][0]["accepted"].get<bool>());
  EXPECT_FALSE(best.contains("resamples")) << "draws are only kept with trials on disk";
  EXPECT_TRUE(best["pareto"].get<bool>() && best["reused"].get<bool>());
  EXPECT_EQ(json["trials"][1]["why_not"], "it takes no such method");
  EXPECT_TRUE(json["trials"][0]["deployable"].is_null());
}

TEST(TuneJsonTest, WhatIsNoNumberIsNull) {
  TuneReport report = example();
  report.float_value.reset();
  report.trials[0].value = std::nan("");
  const Json json = Json::parse(to_json(report));
  EXPECT_TRUE(json["float_value"].is_null());
  EXPECT_TRUE(json["trials"][0]["value"].is_null());
}

TEST(TuneJsonTest, APlanHasItsSteps) {
  const TunePlan plan{"m.onnx", "XINT8", "top1", "drop<=1%", {{"plain", "as asked for", "none", {"plain"}, 1.5}}, 1.5};
  const Json json = Json::parse(to_json(plan));
  EXPECT_EQ(json["preset"], "XINT8");
  EXPECT_EQ(json["seconds"], 1.5);
  EXPECT_EQ(json["steps"], Json::parse(R"([{"name": "plain", "what": "as asked for", "risk": "none",
                                            "trials": ["plain"], "seconds": 1.5}])"));
}

}  // namespace
}  // namespace quarkq
