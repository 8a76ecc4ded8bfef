// SPDX-License-Identifier: MIT
// The figures of a run's details against the same counted by definition, and the decisions beside them.
#include "pipeline/report/details.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "onnx_io/save.h"
#include "support/legalize_samples.h"
#include "unit/base/temp_folder.h"

namespace quarkq::pipeline {
namespace {

const std::string kDetailNet = cat(
    "g (float[1, 3, 6, 6] x) => (float[1, 4, 6, 6] y) <float[4, 3, 3, 3] w = ", test::numbers(108, 1),
    ", float[4] b = ", test::numbers(4, 2), ", float[4, 1, 1, 1] k = {0.5, 1, 2, 0}, float[4] none = {0, 0, 0, 0}> ",
    "{ [conv] c = Conv <pads = [1, 1, 1, 1]> (x, w, b) [act] r = LeakyRelu (c) "
    "[group] y = Conv <group = 4> (r, k, none) }");

/// Planned and written; `report` has the details.
struct DetailedRun {
  explicit DetailedRun(const std::string& preset = "A8W8", const std::vector<std::string>& sets = {})
      : bench(test::model_of(kDetailNet), test::settings_for(preset, sets)), samples(bench.graph(), 3) {
    bench.context.source.data = &samples;
    std::vector<PassTime> times;
    const Status planned = run_passes(bench.context, {.until = pass::Phase::kWrite}, times, {});
    EXPECT_TRUE(planned.ok()) << planned.message();
    report.details.emplace();
    add_details(bench.context, *bench.context.calibrated, &samples, report);
  }
  const TensorProfile* find(const std::string& name) const {
    const auto found = std::ranges::find(report.details->profiles, name, &TensorProfile::name);
    return found == report.details->profiles.end() ? nullptr : &*found;
  }
  const numeric::QuantParams& params(const std::string& name) const {
    return bench.context.plan.params[bench.context.plan.find(bench.value(name))->stage.params][0];
  }
  /// Values of a tensor on the first sample.
  std::vector<double> values(const std::string& name) {
    ir::Model model = *bench.context.calibrated;
    const ir::ValueId id = model.graph.find(name);
    if (const ir::Tensor* stored = model.graph.constant(id)) return ir::to_double(*stored).value();
    if (name == "x") return ir::to_double(samples.read(0).value().inputs[0]).value();
    if (!model.graph.value(id).is_output) ir::GraphEdit(model.graph).add_graph_output(id);
    exec::Session session(model, {}, {});
    return ir::to_double(session.run(samples.read(0).value().inputs).value()->back()).value();
  }

  test::PassBench bench;
  test::RandomSamples samples;
  QuantizeReport report;
};

TEST(DetailsTest, ProfilesAreCountsOfTheValues) {
  DetailedRun run;
  for (const char* name : {"x", "r", "w"}) {
    const TensorProfile* profile = run.find(name);
    ASSERT_NE(profile, nullptr) << name;
    const std::vector<double> values = run.values(name);
    const auto [least, most] = std::ranges::minmax(values);
    EXPECT_EQ(profile->least, least) << name;
    EXPECT_EQ(profile->most, most) << name;
    ASSERT_EQ(profile->counts.size(), 48u);
    std::vector<uint32_t> counts(48, 0);
    for (const double value : values)
      ++counts[std::min<size_t>(47, static_cast<size_t>((value - least) / (most - least) * 48))];
    EXPECT_EQ(profile->counts, counts) << name;
    const numeric::QuantParams& params = run.params(name);
    const auto scale = static_cast<double>(params.scale);
    EXPECT_EQ(profile->low, (-128.0 - params.zero_point) * scale) << name;
    EXPECT_EQ(profile->high, (127.0 - params.zero_point) * scale) << name;
    EXPECT_EQ(profile->channels, 1u);
    const auto outside = std::ranges::count_if(values, [&](double value) {
      const double code = std::nearbyint(value / scale) + params.zero_point;
      return code < -128 || code > 127;
    });
    EXPECT_DOUBLE_EQ(*profile->clipped, static_cast<double>(outside) / static_cast<double>(values.size())) << name;
  }
}

TEST(DetailsTest, UnusedIntegersAreCountedWhereThereAreValuesForAll) {
  DetailedRun run("A8W8", {"calibrate_method=CalibrationMethod.MinMax"});
  EXPECT_FALSE(run.find("w")->unused.has_value());  // 108 values cannot take 256 integers
  EXPECT_FALSE(run.find("x")->unused.has_value());
  DetailedRun fewer("A8W8", {"TensorQuantOverrides={w: [{rmin: -0.01, rmax: 0.01}]}"});
  EXPECT_GT(*fewer.find("w")->clipped, 0.9);
  EXPECT_EQ(*fewer.find("w")->high, 127.0 * static_cast<double>(fewer.params("w").scale));
}

TEST(DetailsTest, TensorsOfOneValueAndScalesPerChannel) {
  DetailedRun run("A8W8", {"per_channel=true"});
  const TensorProfile* weight = run.find("k");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->channels, 4u);
  EXPECT_FALSE(weight->clipped.has_value()) << "channels have scales of their own";
  EXPECT_GE(*weight->high, 2 * 0.99) << "the widest range";
  const TensorProfile* zeros = run.find("none");
  ASSERT_NE(zeros, nullptr);
  EXPECT_EQ(zeros->least, 0.0);
  EXPECT_EQ(zeros->most, 0.0);
  EXPECT_EQ(zeros->counts[0], 4u);
}

TEST(DetailsTest, SettingsAreThoseThatAreNotDefaults) {
  const DetailedRun run("A8W8", {"Percentile=99.5"});
  std::set<std::string> names;
  for (const SettingValue& one : run.report.details->settings) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name << " twice";
    EXPECT_NE(one.origin, "default");
    if (one.name == "Percentile") {
      EXPECT_EQ(one.value + " " + one.origin, "99.5 --set");
    }
  }
  EXPECT_TRUE(names.contains("Percentile"));
  EXPECT_FALSE(run.report.details->limits.has_value()) << "limits are of the NPU's preset";
  EXPECT_TRUE(DetailedRun("XINT8").report.details->limits.has_value());
}

TEST(DetailsTest, JsonHasANullForWhatIsNotKnown) {
  TensorProfile unknown;
  unknown.name = "t";
  ReportDetails details;
  details.profiles = {unknown};
  details.decisions = {{"t", "float", {{"rule", "a \"text\""}}}};
  const auto json = nlohmann::json::parse(details_json(details).dump());
  for (const char* key : {"least", "most", "low", "high", "clipped", "unused"})
    EXPECT_TRUE(json["profiles"][0][key].is_null()) << key;
  EXPECT_EQ(json["profiles"][0]["channels"], 1);
  EXPECT_EQ(json["decisions"][0]["steps"][0]["text"], "a \"text\"");
  EXPECT_TRUE(json["limits"].is_null());
}

TEST(DecisionsOfTensorsTest, AllAreThoseOfEach) {
  const DetailedRun run("A8W8", {"nodes_to_exclude=[group]"});
  const ir::Graph& graph = run.bench.context.calibrated->graph;
  const plan::QuantPlan& plan = run.bench.context.plan;
  const std::vector<ExplainedTensor> all = explain_all(graph, plan);
  ASSERT_FALSE(all.empty());
  for (const ExplainedTensor& tensor : all) {
    const ExplainedTensor one = explain_value(graph, plan, graph.find(tensor.name));
    EXPECT_EQ(one.outcome, tensor.outcome) << tensor.name;
    ASSERT_EQ(one.steps.size(), tensor.steps.size()) << tensor.name;
    std::set<std::string> texts;
    for (size_t i = 0; i < one.steps.size(); ++i) {
      EXPECT_EQ(one.steps[i].text, tensor.steps[i].text);
      EXPECT_TRUE(texts.insert(one.steps[i].text).second) << "said twice: " << one.steps[i].text;
    }
  }
  EXPECT_EQ(explain_value(graph, plan, graph.find("k")).outcome, "float");
  EXPECT_EQ(explain_value(graph, plan, graph.find("w")).outcome, "weight INT8");
  EXPECT_EQ(explain_value(graph, plan, graph.find("b")).outcome, "bias INT32");
}

TEST(DecisionsOfTensorsTest, WhatAnEarlierGraphLacksIsLeftOut) {
  DetailedRun run;
  plan::QuantPlan plan = run.bench.context.plan;
  const ir::Graph& graph = run.bench.context.calibrated->graph;
  const size_t before = explain_all(graph, plan).size();
  plan::Decision later = plan.decisions.front();
  later.value = ir::ValueId{static_cast<int32_t>(graph.value_count()) + 5};
  plan.decisions.push_back(later);
  later = plan.decisions.front();
  later.node = ir::NodeId{static_cast<int32_t>(graph.node_count()) + 5};
  plan.decisions.push_back(later);
  EXPECT_EQ(explain_all(graph, plan).size(), before);
}

}  // namespace
}  // namespace quarkq::pipeline
