// SPDX-License-Identifier: MIT
#include "config/settings.h"

#include <gtest/gtest.h>

namespace quarkq::config {
namespace {

TEST(QuantizerTraitsTest, EveryQuantizerHasARow) {
  for (int i = 0; i <= static_cast<int>(Quantizer::kQOperator); ++i) {
    const auto quantizer = static_cast<Quantizer>(i);
    EXPECT_EQ(traits_of(quantizer).quantizer, quantizer) << i;
  }
  EXPECT_EQ(traits_of(Quantizer::kCpu).registry, Registry::kCpu);
  EXPECT_EQ(traits_of(Quantizer::kExtended).domains, DomainPolicy::kContrib);
  EXPECT_EQ(traits_of(Quantizer::kNpuCnn).domains, DomainPolicy::kAlwaysStandard);
  EXPECT_FALSE(traits_of(Quantizer::kNpuTransformer).clips_weights_narrow);
}

TEST(QuantizerTraitsTest, SettingsAskTheRow) {
  Settings settings;
  settings.npu.npu_limitation_check = settings.bias.adjust_weight_scale_for_int32_bias = true;
  const auto with = [&](Quantizer quantizer) -> const Settings& {
    settings.quantizer = quantizer;
    return settings;
  };
  EXPECT_TRUE(with(Quantizer::kCpu).inserts_qdq());
  EXPECT_TRUE(with(Quantizer::kCpu).widens_weight_scales());
  EXPECT_FALSE(with(Quantizer::kCpu).meets_npu_limits());
  EXPECT_TRUE(with(Quantizer::kNpuTransformer).widens_weight_scales());  // quirk KeepBiasesInRange
  settings.compat = true;
  EXPECT_FALSE(with(Quantizer::kNpuTransformer).widens_weight_scales());
  EXPECT_TRUE(with(Quantizer::kCpu).widens_weight_scales());
  EXPECT_TRUE(with(Quantizer::kExtended).aligns_scales());
  EXPECT_FALSE(with(Quantizer::kExtended).refines_positions());
  EXPECT_TRUE(with(Quantizer::kNpuCnn).refines_positions());
  EXPECT_FALSE(with(Quantizer::kNpuCnn).aligns_scales());
  EXPECT_FALSE(with(Quantizer::kDynamic).inserts_qdq());
  EXPECT_TRUE(with(Quantizer::kDynamic).emits_dynamic());
  EXPECT_TRUE(with(Quantizer::kMatMulNBits).packs_matrices());
}

}  // namespace
}  // namespace quarkq::config
