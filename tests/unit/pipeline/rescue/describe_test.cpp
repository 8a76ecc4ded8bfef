// SPDX-License-Identifier: MIT
// Reports of remedies: each has the setting that gives the same model without a rescue.
#include "pipeline/rescue/describe.h"

#include <algorithm>

#include "support/pass_bench.h"

namespace quarkq::pipeline {
namespace {

/// Two Convs and a Relu between them, selected and calibrated as far as reports need.
struct DescribeBench : test::PassBench {
  explicit DescribeBench(const std::string& preset, const std::vector<std::string>& sets = {})
      : PassBench(
            test::model_of("g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) <float[2, 2, 1, 1] w = {1, 2, 3, 4}> "
                           "{ c = Conv (x, w) r = Relu (c) y = Conv (r, w) }"),
            test::settings_for(preset, sets)) {
    for (const char* name : {"c", "r", "y"}) {
      const ir::NodeId id = graph().producer(value(name))->id;
      ir::GraphEdit(model.graph).node(id).name = cat("node_", name);
    }
    run(planning::select_nodes);
    context.calibrated = std::make_shared<const ir::Model>(model);
  }

  ir::NodeId node_of(const std::string& name) { return graph().producer(value(name))->id; }
  RescueReport report(const Remedies& remedies, const std::vector<const FloatRemedy*>& applied = {}) {
    return described({remedies, applied}, context, graph());
  }
};

TEST(DescribeTest, NothingChangedNeedsNoSetting) {
  DescribeBench bench("A8W8");
  const RescueReport report = bench.report({});
  EXPECT_TRUE(report.settings.empty());
  EXPECT_EQ(report.islands, 0u);
  EXPECT_EQ(report.float_macs, 0);
}

TEST(DescribeTest, EveryRemedyIsASetting) {
  DescribeBench bench("A8W8");
  Remedies remedies;
  remedies.weights = {.rounding = "compensated", .searched_scales = true};
  remedies.channel_scales = true;
  const auto ranges = std::ranges::find(float_remedies(), kSearchedRanges, &FloatRemedy::setting);
  ASSERT_NE(ranges, float_remedies().end());
  const RescueReport report = bench.report(remedies, {&*ranges});
  const std::vector<std::string> expected = {std::string(kSearchedRanges), "quarkq.rounding=compensated",
                                             "WeightCalibrateMethod=ExtendedCalibrationMethod.MinMSE",
                                             "per_channel=true"};
  EXPECT_EQ(report.settings, expected);
  const config::Settings settings = test::settings_for("A8W8", expected);
  EXPECT_EQ(settings.ranges.calibrate_method, config::CalibrateMethod::kFloatMinMSE);
  EXPECT_EQ(settings.ranges.weight_calibrate_method, config::CalibrateMethod::kFloatMinMSE);
  EXPECT_EQ(settings.tool.rounding, "compensated");
  EXPECT_TRUE(settings.formats.per_channel);
  const std::string text = rescue_text(report);
  for (const char* part : {"ranges of activations have the least squared error",
                           "weights are rounded to minimize the error of their layers",
                           "scales of weights minimize their squared error", "weights have a scale per channel"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(DescribeTest, SingleNodesKeepTheListOfTheUser) {
  DescribeBench bench("A8W8", {"nodes_to_exclude=[node_c]"});
  Remedies remedies;
  remedies.left_float = {bench.node_of("y")};
  remedies.in_16_bits = {bench.node_of("r")};
  const RescueReport report = bench.report(remedies);
  EXPECT_EQ(report.float_nodes, std::vector<std::string>{"node_y"});
  EXPECT_EQ(report.float_macs, 0.5);
  EXPECT_EQ(report.macs_in_16_bits, 0) << "a Relu has none";
  EXPECT_EQ(report.islands, 1u) << "Relu and the Conv after it are neighbours";
  const std::vector<std::string> expected = {
      R"(nodes_to_exclude=["node_c","node_y"])",
      R"(TensorQuantOverrides={"c":[{"quant_type":"QuantType.QInt16"}],"r":[{"quant_type":"QuantType.QInt16"}]})"};
  EXPECT_EQ(report.settings, expected);
}

TEST(DescribeTest, UnsignedActivationsStayUnsigned) {
  DescribeBench bench("U8S8_AAWS");
  Remedies remedies;
  remedies.in_16_bits = {bench.node_of("r")};
  EXPECT_NE(bench.report(remedies).settings.at(0).find("QuantType.QUInt16"), std::string::npos);
}

}  // namespace
}  // namespace quarkq::pipeline
