// SPDX-License-Identifier: MIT
// Where formats meet (ref:marking#second-stages), mixed precision (ref:mixed-precision), and weight scales for int32
// biases (ref:marking#biases).
#include <set>

#include "../base/temp_folder.h"
#include "planning/tune/mixed_plan.h"
#include "support/legalize_samples.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

const std::string kNet =
    cat("g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) <float[2, 2, 1, 1] w = ", test::numbers(4, 1),
        ", float[2, 2, 1, 1] v = ", test::numbers(4, 2), ", float[2] b = ", test::numbers(2, 3),
        "> { a = Conv (x, w, b) r = Relu (a) y = Conv (r, v) }");

/// Select to insert, with samples.
struct Planned {
  PassBench bench;
  test::RandomSamples data;

  explicit Planned(const std::string& preset, const std::vector<std::string>& sets, const std::string& body = kNet)
      : bench(test::model_of(body), test::settings_for(preset, sets)), data(bench.graph(), 3) {
    bench.context.source.data = &data;
  }

  void run_until(const std::string& last) {
    static const std::set<std::string> phases = {"select",    "mark", "calibrate", "restructure",
                                                 "constrain", "tune", "write"};
    for (const PassInfo& pass : pipeline::all_passes()) {
      if (pass.name != std::string("sort-nodes") && !phases.contains(pass::name(pass.phase))) continue;
      if (pass.enabled(bench.settings)) bench.run(pass.run);
      if (pass.name == last) return;
    }
  }
  const plan::QuantSlot& slot(const std::string& name) { return bench.context.plan.slot(bench.value(name)); }
  ElementType type(const std::string& name) { return slot(name).stage.spec.type; }
  bool has_value(const std::string& name) const { return bench.graph().find(name).valid(); }
};

const char* const kWide = "TensorQuantOverrides={r: [{quant_type: ExtendedQuantType.QInt16}]}";

TEST(DualPairsTest, ANodeSeesOneFormat) {
  Planned made("A8W8", {kWide, "EnableDualQuantNodePairs=true"});
  made.run_until("write-qdq");
  // Relu writes r in 16 bits, so it reads a in 16 bits; the value inside the fused pair keeps its own pair for that.
  EXPECT_TRUE(made.has_value("a_QuantizeLinear_Output"));
  EXPECT_EQ(made.bench.context.plan.extras.size(), 2u);
  EXPECT_TRUE(made.has_value("a_additional_scale"));
  EXPECT_TRUE(made.has_value("y_additional_scale"));
  const ir::ValueId wide = made.bench.value("y_additional_zero_point");
  EXPECT_EQ(made.bench.graph().value(wide).constant->type(), ElementType::kInt16);
}

TEST(DualPairsTest, FormatsAlikeNeedNone) {
  Planned same("A8W8", {"TensorQuantOverrides={r: [{quant_type: QuantType.QInt8}]}", "EnableDualQuantNodePairs=true"});
  same.run_until("write-qdq");
  EXPECT_TRUE(same.bench.context.plan.extras.empty());
  EXPECT_FALSE(same.has_value("a_QuantizeLinear_Output"));
  Planned off("A8W8", {kWide});
  off.run_until("write-qdq");
  EXPECT_TRUE(off.bench.context.plan.extras.empty());
}

TEST(DualPairsTest, TheResultRunsAndStaysClose) {
  Planned made("A8W8", {kWide, "EnableDualQuantNodePairs=true"});
  const ir::Model before = made.bench.model;
  made.run_until("write-qdq");
  test::expect_same_outputs(before, made.bench.model, 0.1);
}

TEST(WidenWeightScalesTest, OnlyWhereInt32Overflows) {
  const auto body = [](const char* bias) {
    return cat("g (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y) <float[1, 1, 1, 1] w = {0.000001}, float[1] b = {",
               bias, "}> { y = Conv (x, w, b) }");
  };
  const std::vector<std::string> sets = {"AdjustWeightScaleForInt32Bias=true"};
  Planned large("A8W8", sets, body("1000"));
  large.run_until("encode-constants");
  const float before = large.bench.context.plan.params[large.slot("w").stage.params][0].scale;
  EXPECT_TRUE(large.bench.run(widen_weight_scales));
  EXPECT_GT(large.bench.context.plan.params[large.slot("w").stage.params][0].scale, before);
  EXPECT_FALSE(large.bench.run(widen_weight_scales));
  EXPECT_TRUE(large.bench.run(encode_biases));
  EXPECT_LT(large.slot("b").codes->data<int32_t>()[0], 2147483647);
  Planned small("A8W8", sets, body("0.01"));
  small.run_until("encode-constants");
  EXPECT_FALSE(small.bench.run(widen_weight_scales));
}

const std::string kTo16 =
    "AutoMixprecision={TargetLayerConfig: {input_tensors: {spec: Int16Spec}, weight: {spec: Int16Spec}}";

TEST(MixPrecisionTest, PromotesEverythingAtThresholdZero) {
  Planned made("A8W8", {"include_auto_mp=true", kTo16 + "}"});
  made.run_until("mix-precision");
  for (const char* name : {"x", "r", "w", "v"}) EXPECT_EQ(made.type(name), ElementType::kInt16) << name;
  EXPECT_EQ(made.type("y"), ElementType::kInt8);
  made.run_until("write-qdq");
}

TEST(MixPrecisionTest, NamesAndSharedInputsLeaveNodesOut) {
  Planned made("A8W8", {"include_auto_mp=true", kTo16 + ", TargetOpType: [Gemm]}"});
  made.run_until("mix-precision");
  EXPECT_EQ(made.type("x"), ElementType::kInt8);
}

TEST(MixPrecisionTest, TheThresholdStopsIt) {
  const std::string quality = kTo16 + ", MetricOptimizeObject: quality, MetricThreshold: 1000.0}";
  Planned good_enough("A8W8", {"include_auto_mp=true", quality});
  good_enough.run_until("mix-precision");
  EXPECT_EQ(good_enough.type("x"), ElementType::kInt8);
  const std::string unreachable = kTo16 + ", MetricOptimizeObject: quality, MetricThreshold: 1.0e-9}";
  Planned all("A8W8", {"include_auto_mp=true", unreachable});
  all.run_until("mix-precision");
  EXPECT_EQ(all.type("x"), ElementType::kInt16);
  EXPECT_EQ(all.type("r"), ElementType::kInt16);
  const std::string only_look = kTo16 + ", MetricThreshold: null}";
  Planned looked("A8W8", {"include_auto_mp=true", only_look});
  looked.run_until("mix-precision");
  EXPECT_EQ(looked.type("x"), ElementType::kInt8);
}

struct GroupCase {
  const char* name;
  const char* file;
  const char* more;            ///< of AutoMixprecision
  std::set<std::string> wide;  ///< weights that are promoted
};

/// Two groups that one of the two Convs is in each, judged by a threshold that allows all or the better one.
TEST(MixPrecisionTest, GroupsArePromotedTogether) {
  const std::string one = R"({"name": "head", "start_nodes": ["a"], "end_nodes": ["r"], "description": "input part"})";
  const std::string both = R"({"name": "all", "start_nodes": ["a"], "end_nodes": []})";
  const GroupCase rows[] = {
      {"the rest is a group", R"({"subgraphs": []})", "", {"w", "v"}},
      {"only what is included", R"({"num_subgraphs": 1, "subgraphs": [)", ", IncludeLayers: [nothing]", {}},
      {"analysis only", R"({"subgraphs": [)", ", MetricThreshold: null", {}},
      {"all that the threshold allows",
       R"({"quantized": false, "subgraphs": [)",
       ", MetricThreshold: 1.0e9",
       {"w", "v"}},
  };
  for (const GroupCase& row : rows) {
    for (const std::string& group : {one, both}) {
      const test::TempFolder folder;
      std::string text = row.file;
      if (text.ends_with('[')) text += group + "]}";
      const std::string path = folder.write("parts.json", text);
      Planned made("A8W8", {"include_auto_mp=true", cat(kTo16, row.more, ", SubgraphJson: '", path, "'}")});
      made.run_until("mix-precision");
      for (const char* weight : {"w", "v"}) {
        const ElementType wanted = row.wide.contains(weight) ? ElementType::kInt16 : ElementType::kInt8;
        EXPECT_EQ(made.type(weight), wanted) << row.name << ": " << weight;
      }
    }
  }
}

TEST(MixPrecisionTest, AGroupIsTriedAsAWhole) {
  const test::TempFolder folder;
  const auto message = [&](const std::string& groups) {
    const std::string path = folder.write("parts.json", "{\"subgraphs\": [" + groups + "]}");
    Planned made("A8W8", {"include_auto_mp=true", kTo16 + ", SubgraphJson: '" + path + "'}"});
    made.run_until("mix-precision");
    std::string found;
    for (const Diagnostic& one : made.bench.diagnostics.all())
      if (std::string(one.id) == "mixed-precision") found = one.text;
    return found;
  };
  EXPECT_EQ(message(R"({"name": "all", "start_nodes": ["a"]})"), "promoted 1 of 1 candidate groups");
  EXPECT_EQ(message(R"({"name": "first", "start_nodes": ["a"], "end_nodes": ["a"]})"),
            "promoted 2 of 2 candidate groups");
  // The second group loses the node that the first one has, and the rest is empty.
  EXPECT_EQ(message(R"({"name": "p", "start_nodes": ["a"], "end_nodes": ["a"]}, {"name": "q", "start_nodes": ["a"]})"),
            "promoted 2 of 2 candidate groups");
}

TEST(MixPrecisionTest, WrongWordsAreRefused) {
  const auto message = [](const std::string& rest) {
    const auto options = mixed_options(test::settings_for("A8W8", {"include_auto_mp=true", kTo16 + rest + "}"}));
    return options.ok() ? "" : options.status().message();
  };
  EXPECT_EQ(message(""), "");
  EXPECT_EQ(message(", MetricDefault: l3"),
            "AutoMixprecision.MetricDefault: found l3, allowed is l2 or kl or cosine or sqnr or psnr");
  EXPECT_EQ(message(", MetricDistanceFn: f"),
            "AutoMixprecision.MetricDistanceFn: a function of the caller's has no counterpart here, allowed is "
            "MetricDefault; quarkq tune --metric-cmd judges whole models");
}

TEST(MixedMetricTest, Values) {
  const std::vector<double> a = {1, 2, 2}, b = {1, 0, 2}, none = {0, 0, 0};
  EXPECT_DOUBLE_EQ(mixed_metric(MixedMetric::kL2, a, b), 2.0);
  EXPECT_NEAR(mixed_metric(MixedMetric::kCosine, a, a), 0.0, 1e-12);
  EXPECT_DOUBLE_EQ(mixed_metric(MixedMetric::kCosine, a, none), 0.0);
  EXPECT_NEAR(mixed_metric(MixedMetric::kSqnr, a, b), -10.0 * std::log10(9.0 / 4.0), 1e-9);
  EXPECT_NEAR(mixed_metric(MixedMetric::kPsnr, a, b), -(20.0 * std::log10(2.0) - 10.0 * std::log10(4.0 / 3.0)), 1e-9);
  EXPECT_NEAR(mixed_metric(MixedMetric::kKl, a, a), 0.0, 1e-12);
  EXPECT_GT(mixed_metric(MixedMetric::kKl, a, b), 0.0);
}

}  // namespace
}  // namespace quarkq::pass_tests
