// SPDX-License-Identifier: MIT
// What each setting becomes in the options of a calibration method.
#include "pass/context.h"

#include "config/fields.h"
#include "support/pass_support.h"

namespace quarkq::pass {
namespace {

using config::CalibrateMethod;

calib::MethodOptions options_with(const std::vector<std::string>& sets, const char* preset = "A8W8") {
  return method_options(test::settings_for(preset, sets));
}

TEST(CalibrationOptionsTest, EverySettingArrives) {
  EXPECT_EQ(options_with({"Percentile=98.5"}).percentile, 98.5);
  EXPECT_EQ(options_with({"NumBins=77"}).num_bins, std::optional<int64_t>(77));
  EXPECT_EQ(options_with({"NumQuantizedBins=33"}).num_quantized_bins, 33);
  EXPECT_TRUE(options_with({"CalibMovingAverage=true"}).moving_average);
  EXPECT_FALSE(options_with({}).moving_average);
  EXPECT_EQ(options_with({"LWPMetric=mse"}).lwp_metric, "mse");
  EXPECT_EQ(options_with({"PercentileCandidates=[90.0, 99.0]"}).percentile_candidates, (std::vector<double>{90, 99}));
  EXPECT_EQ(options_with({"MinMSEModePof2Scale=MostCommon"}, "XINT8").minmse_mode, "MostCommon");
  for (const bool symmetric : {false, true}) {
    const std::string set = cat("CalibTensorRangeSymmetric=", symmetric ? "true" : "false");
    EXPECT_EQ(options_with({set}).symmetric_range, symmetric);
    EXPECT_EQ(options_with({set}).symmetric_asked, symmetric);
  }
  EXPECT_FALSE(options_with({"calibrate_method=CalibrationMethod.Percentile"}).symmetric_asked) << "by the method";
  EXPECT_EQ(options_with({"CalibMovingAverageConstant=0.5"}).averaging_constant, std::optional(0.5));
  EXPECT_EQ(options_with({}).averaging_constant, std::nullopt);
}

TEST(CalibrationOptionsTest, TypesAreThoseOfActivations) {
  struct Row {
    const char* preset;
    ElementType type;
    numeric::ScaleKind scale;
  };
  for (const Row& row : {Row{"A8W8", ElementType::kInt8, numeric::ScaleKind::kFloat},
                         {"XINT8", ElementType::kUInt8, numeric::ScaleKind::kPowerOfTwo},
                         {"U8S8_AAWS", ElementType::kUInt8, numeric::ScaleKind::kFloat},
                         {"A16W8", ElementType::kInt16, numeric::ScaleKind::kFloat},
                         {"U16S8_AAWS", ElementType::kUInt16, numeric::ScaleKind::kFloat},
                         {"BF16", ElementType::kBFloat16, numeric::ScaleKind::kFloat}}) {
    const calib::MethodOptions options = options_with({}, row.preset);
    EXPECT_EQ(options.spec.type, row.type) << row.preset;
    EXPECT_EQ(options.spec.scale, row.scale) << row.preset;
    EXPECT_EQ(options.spec.symmetric, test::settings_for(row.preset).formats.activation_symmetric) << row.preset;
  }
}

/// ref:calibration#fallbacks: the method that all tensors take has its own symmetry, unless the user set one.
TEST(CalibrationOptionsTest, FallbackHasItsOwnSymmetry) {
  const auto symmetric = [](const std::vector<std::string>& sets, CalibrateMethod fallback) {
    return fallback_options(test::settings_for("U8S8_AAWS", sets), fallback).symmetric_range;
  };
  EXPECT_TRUE(symmetric({}, CalibrateMethod::kNonOverflow));
  EXPECT_FALSE(symmetric({}, CalibrateMethod::kMinMax));
  EXPECT_TRUE(symmetric({"CalibTensorRangeSymmetric=true"}, CalibrateMethod::kMinMax));
  EXPECT_FALSE(symmetric({"CalibTensorRangeSymmetric=false"}, CalibrateMethod::kNonOverflow));
}

TEST(CalibrationOptionsTest, BinsAndVotesAreTakenWhereTheMethodReadsThem) {
  struct Row {
    const char* method;
    bool bins, votes;
    std::vector<std::string> more = {};
  };
  const Row rows[] = {
      {"CalibrationMethod.MinMax", false, false},
      {"CalibrationMethod.Percentile", true, false},
      {"CalibrationMethod.Entropy", true, false},
      {"CalibrationMethod.Distribution", false, false},
      {"PowerOfTwoMethod.NonOverflow", false, false},
      {"PowerOfTwoMethod.MinMSE", true, false},
      {"PowerOfTwoMethod.MinMSE", true, true, {"MinMSEModePof2Scale=MostCommon"}},
      {"CalibrationMethod.MinMax", false, false, {"MinMSEModePof2Scale=MostCommon"}},
  };
  for (const Row& row : rows) {
    std::vector<std::string> sets = row.more;
    sets.push_back(cat("calibrate_method=", row.method));
    const calib::CollectOptions options = collect_options(test::settings_for("A8W8", sets));
    EXPECT_EQ(options.with_bins, row.bins) << row.method;
    EXPECT_EQ(options.votes.has_value(), row.votes) << row.method;
  }
}

TEST(CalibrationOptionsTest, SamplesRunInTheOrderThatTheModeNeeds) {
  const auto run = [](const std::vector<std::string>& sets) {
    return sample_run_options({}, test::settings_for("A8W8", sets), {{1}, {2}}, {});
  };
  EXPECT_EQ(run({}).order, calib::ValueOrder::kAny);
  EXPECT_EQ(run({"quarkq.compat=quark-0.13"}).order, calib::ValueOrder::kOnnx);
  EXPECT_FALSE(run({}).allow_non_finite);
  EXPECT_TRUE(run({"quarkq.compat=quark-0.13"}).allow_non_finite);
  EXPECT_TRUE(run({"calibration.allow_non_finite=true"}).allow_non_finite);
  EXPECT_FALSE(run({"quarkq.compat=quark-0.13", "calibration.allow_non_finite=false"}).allow_non_finite);
  EXPECT_EQ(run({}).tensors.size(), 2u);
}

TEST(CalibrationOptionsTest, EveryMethodOfActivationsHasARowInBothModes) {
  for (const auto& name : config::enum_names<CalibrateMethod>()) {
    config::Settings settings;
    settings.ranges.calibrate_method = name.value;
    for (const bool compat : {false, true}) {
      const bool is_activation =
          name.value != CalibrateMethod::kInt16MinMax && !(compat && name.value == CalibrateMethod::kFloatMinMSE);
      settings.compat = compat;
      const auto row = asked_calibrator(settings);
      EXPECT_EQ(row.ok(), is_activation) << name.text;
      if (!row.ok()) continue;
      EXPECT_EQ(row.value()->method, name.value) << name.text;
      EXPECT_EQ(row.value()->is_compat(), compat) << name.text;
    }
  }
}

}  // namespace
}  // namespace quarkq::pass
