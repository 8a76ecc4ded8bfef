// SPDX-License-Identifier: MIT
// QuantizationPreference (ref:settings#preference), and what dynamic quantization leaves out.
#include "unit/config/config_support.h"

namespace quarkq::config {
namespace {

std::string preference(const std::string& preset, const std::string& word, const std::string& more = "") {
  return "preset: " + preset + "\nextra_options: {QuantizationPreference: " + word + more + "}";
}

TEST(PreferenceTest, AccuracyTakesAllData) {
  Diagnostics diagnostics;
  const Result<Settings> settings =
      resolve_text(preference("XINT8", "accuracy", ", MinMSEModePof2Scale: MostCommon"), diagnostics);
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(settings.value().ranges.min_mse_mode_pof2_scale, "All");
  EXPECT_TRUE(has(subjects(diagnostics, "setting-forced"), "MinMSEModePof2Scale"));
  EXPECT_EQ(settings_of(preference("A8W8", "accuracy", ", MinMSEModePof2Scale: MostCommon")).ranges.min_mse_mode_pof2_scale,
            "MostCommon");
}

TEST(PreferenceTest, SpeedAndResourcesCountInBins) {
  for (const char* word : {"speed", "resource_efficiency"}) {
    EXPECT_EQ(settings_of(preference("XINT8", word)).ranges.num_bins, 2048) << word;
    EXPECT_EQ(settings_of(preference("XINT8", word, ", NumBins: 512")).ranges.num_bins, 512) << word;
  }
  EXPECT_FALSE(settings_of(preference("XINT8", "speed")).ranges.calib_optimize_mem);
  EXPECT_TRUE(settings_of(preference("XINT8", "resource_efficiency")).ranges.calib_optimize_mem);
  EXPECT_EQ(settings_of(preference("XINT8", "resource_efficiency", ", CalibWorkerNum: 4")).ranges.calib_worker_num, 1);
  EXPECT_EQ(settings_of(preference("XINT8", "speed", ", CalibWorkerNum: 1")).ranges.calib_worker_num, 1);
}

TEST(PreferenceTest, OtherWordsAreRefused) {
  EXPECT_EQ(refusal_of(preference("XINT8", "beauty")),
            "QuantizationPreference: found beauty, allowed is accuracy, speed or resource_efficiency");
}

TEST(PreferenceTest, DynamicQuantizationTakesTheModelAsItIs) {
  const Settings settings = settings_of("preset: UINT8_DYNAMIC_QUANT");
  EXPECT_TRUE(settings.preprocessing.skip_preprocess && settings.selection.matmul_const_b_only);
  EXPECT_FALSE(settings.algorithms.include_cle || settings.inserts_qdq());
}

}  // namespace
}  // namespace quarkq::config
