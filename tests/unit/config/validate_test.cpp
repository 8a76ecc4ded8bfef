// SPDX-License-Identifier: MIT
// Each rule about settings that have no effect or contradict each other: found where it applies, silent where the
// setting counts, silent where nobody asked for it.
#include "config/resolve.h"

#include "unit/config/config_support.h"

namespace quarkq::config {
namespace {

struct RuleRow {
  const char* setting;
  const char* applies;  ///< extra_options with which it is a finding
  const char* counts;   ///< and with which it is none
  const char* id = "option-no-effect";
};

const RuleRow kRows[] = {
    {"CalibMovingAverageConstant", "CalibMovingAverageConstant: 0.5",
     "CalibMovingAverageConstant: 0.5, CalibMovingAverage: true"},
    {"RandomDataReaderInputShape", "RandomDataReaderInputShape: {x: [1]}",
     "RandomDataReaderInputShape: {x: [1]}, UseRandomData: true"},
    {"RandomDataReaderInputDataRange", "RandomDataReaderInputDataRange: {x: [0, 1]}",
     "RandomDataReaderInputDataRange: {x: [0, 1]}, UseRandomData: true"},
    {"BFPAttributes", "BFPAttributes: {axis: 1}", ""},
    {"MXAttributes", "MXAttributes: {axis: 1}", ""},
    {"UsePowerOf2Scale", "UsePowerOf2Scale: true", ""},
    {"LWPUseHistogram", "LWPUseHistogram: false", ""},
    {"CalibOptimizeMem", "CalibOptimizeMem: true", ""},
    {"CalibWorkerNum", "CalibWorkerNum: 4", ""},
    {"NumBins", "NumBins: 100", ""},
    {"SmoothAlpha", "SmoothAlpha: 0.3", ""},
    {"RMatrixDim", "RMatrixDim: 64", ""},
    {"GPTQParams", "GPTQParams: {PerChannel: true}", "GPTQParams: {PerChannel: true}, UseGPTQ: true"},
    {"MinMSEModeFloatScale", "MinMSEModeFloatScale: All",
     "MinMSEModeFloatScale: All, WeightCalibrateMethod: ExtendedCalibrationMethod.MinMSE"},
    {"LWPMetric", "LWPMetric: mse", ""},
    {"Scenario", "Scenario: p3", "Scenario: same"},
    {"ActivationScaled", "ActivationScaled: true", "ActivationScaled: false"},
    {"BF16WithClip", "BF16WithClip: true", "BF16WithClip: true, TensorQuantOverrides: {t: [{symmetric: true}]}"},
    {"UseUnsignedReLU", "UseUnsignedReLU: true, ActivationSymmetric: false",
     "UseUnsignedReLU: true, ActivationSymmetric: true"},
};

std::vector<std::string> found(const std::string& options, const char* id, Asked asked = Asked::kAtAll) {
  const Settings settings = settings_of(cat("preset: A8W8\nextra_options: {", options, "}"));
  Diagnostics diagnostics;
  validate(settings, asked, diagnostics);
  return subjects(diagnostics, id);
}

TEST(ValidateRulesTest, SettingsWithoutEffectAreNamed) {
  for (const RuleRow& row : kRows) {
    EXPECT_TRUE(has(found(row.applies, row.id), row.setting)) << row.setting;
    EXPECT_TRUE(has(found(row.applies, row.id, Asked::kByUser), row.setting)) << row.setting << ", in a file";
    EXPECT_FALSE(has(found("", row.id), row.setting)) << row.setting << ", not asked for";
    if (*row.counts == '\0') continue;
    EXPECT_FALSE(has(found(row.counts, row.id), row.setting)) << row.setting << ", where it counts";
  }
}

TEST(ValidateRulesTest, MethodsDecideWhichOfTheirOptionsCount) {
  struct Row {
    const char *method, *option, *name;
    bool counts;
  };
  const Row rows[] = {
      {"CalibrationMethod.MinMax", "CalibMovingAverage: true", "CalibMovingAverage", true},
      {"CalibrationMethod.Percentile", "CalibMovingAverage: true", "CalibMovingAverage", false},
      {"CalibrationMethod.Entropy", "CalibMovingAverage: true", "CalibMovingAverage", false},
      {"CalibrationMethod.Entropy", "NumBins: 512", "NumBins", true},
      {"CalibrationMethod.Percentile", "NumBins: 512", "NumBins", false},
      {"PowerOfTwoMethod.MinMSE", "MinMSEModePof2Scale: MostCommon", "MinMSEModePof2Scale", true},
      {"PowerOfTwoMethod.NonOverflow", "MinMSEModePof2Scale: MostCommon", "MinMSEModePof2Scale", false},
  };
  for (const Row& row : rows) {
    Diagnostics diagnostics;
    const Settings settings =
        settings_of(cat("quant_config: {calibrate_method: ", row.method, "}\nextra_options: {", row.option, "}"));
    validate(settings, Asked::kAtAll, diagnostics);
    EXPECT_NE(has(subjects(diagnostics, "option-no-effect"), row.name), row.counts) << row.method << " " << row.option;
  }
}

TEST(ValidateRulesTest, ClipsAreReplacedForEqualizationOnly) {
  for (const bool equalizes : {false, true}) {
    Diagnostics diagnostics;
    validate(settings_of(cat("preset: A8W8\nquant_config: {include_cle: ", equalizes ? "true" : "false",
                             "}\nextra_options: {ReplaceClip6Relu: true}")),
             Asked::kAtAll, diagnostics);
    EXPECT_NE(has(subjects(diagnostics, "option-no-effect"), "ReplaceClip6Relu"), equalizes);
  }
}

TEST(ValidateRulesTest, SelectorsThatCannotMatchAreNamed) {
  const auto check = [](const std::string& yaml, const char* id) {
    Diagnostics diagnostics;
    validate(settings_of(yaml), Asked::kAtAll, diagnostics);
    return subjects(diagnostics, id);
  };
  EXPECT_TRUE(has(check("preset: A8W8\nexclude: [^conv]", "option-no-effect"), "^conv"));
  EXPECT_FALSE(has(check("preset: A8W8\nexclude: [\"^conv.*\"]", "option-no-effect"), "^conv.*"));
  EXPECT_FALSE(has(check("preset: A8W8\nexclude: [conv]", "option-no-effect"), "conv"));
  const std::string both = "preset: A8W8\nquant_config: {nodes_to_quantize: [a, b]}\nexclude: [b, c]";
  EXPECT_EQ(check(both, "setting-conflict"), std::vector<std::string>{"b"});
}

TEST(MatrixParamsTest, KeysThatTheAlgorithmDoesNotReadAreNamed) {
  const struct {
    const char *params, *more;
    std::vector<std::string> named;
  } rows[] = {
      {"Steps: 5", "", {"MatMulNBitsParams.Steps"}},
      {"Steps: 5, Algorithm: AUTOROUND", "", {}},
      {"Symmetric: true, Algorithm: HQQ", "", {"MatMulNBitsParams.Symmetric"}},
      {"Symmetric: false, Algorithm: HQQ", "", {}},
      {"Algorithm: HQQ", "", {}},  // the preset has Symmetric true
      {"Symmetric: false, Algorithm: GPTQ", "", {}},
      {"Symmetric: false, Algorithm: GPTQ", "compat: quark-0.13", {"MatMulNBitsParams.Symmetric"}},
      {"AccuracyLevel: 4, Algorithm: GPTQ", "compat: quark-0.13", {"MatMulNBitsParams.AccuracyLevel"}},
      {"AccuracyLevel: 4", "nbits_form: qdq", {"MatMulNBitsParams.AccuracyLevel"}},
      {"AccuracyLevel: 4, Bits: 8", "", {}},
  };
  for (const auto& row : rows) {
    const std::string yaml =
        cat("preset: MATMUL_NBITS\nextra_options: {MatMulNBitsParams: {", row.params, "}}\nquarkq: {", row.more, "}");
    Diagnostics found;
    const Result<Settings> made = resolve_text(yaml, found);
    ASSERT_TRUE(made.ok()) << yaml << made.status().message();
    EXPECT_EQ(subjects(found, "option-no-effect"), row.named) << yaml;
  }
}

TEST(MatrixParamsTest, AccuracyLevelsEndAtFour) {
  const std::string yaml = "preset: MATMUL_NBITS\nextra_options: {MatMulNBitsParams: {AccuracyLevel: ";
  for (const char* level : {"-1", "5"})
    EXPECT_EQ(refusal_of(yaml + level + "}}"), cat("MatMulNBitsParams.AccuracyLevel: ", level, ", allowed are 0 to 4"));
}

}  // namespace
}  // namespace quarkq::config
