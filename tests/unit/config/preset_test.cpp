// SPDX-License-Identifier: MIT
// The 70 presets: against the goldens (ref:settings#settings-file), and what each resolves to.
#include "config/preset.h"

#include <set>

#include "base/file_system.h"
#include "config/print.h"
#include "config_support.h"

namespace quarkq::config {
namespace {

QuantConfig load(const std::string& name, const std::vector<std::string>& sets = {}) {
  const Result<QuantConfig> config = load_config(name, sets);
  EXPECT_TRUE(config.ok()) << name << ": " << config.status().message();
  return config.ok() ? config.value() : QuantConfig{};
}

TEST(PresetTest, AllAreThere) {
  EXPECT_EQ(presets().size(), 72u);
  for (const PresetInfo& preset : presets())
    EXPECT_FALSE(preset.summary.empty() || preset.target.empty()) << preset.name;
}

TEST(PresetTest, EachEqualsItsGolden) {
  for (const PresetInfo& preset : presets()) {
    const std::string path = std::string(QUARKQ_SOURCE_DIR) + "/tests/golden/presets/" + preset.name + ".yaml";
    const Result<Node> golden = load_file(path);
    ASSERT_TRUE(golden.ok()) << golden.status().message();
    Result<Node> shown = parse_text(to_yaml(load(preset.name, {"target=none"})), preset.name);
    ASSERT_TRUE(shown.ok());
    shown = shown.value().without("target");
    EXPECT_EQ(shown.value(), golden.value()) << preset.name << "\n" << to_yaml(shown.value());
  }
}

TEST(PresetTest, ABaseIsBelowWhatExtendsIt) {
  const std::vector<Node> bodies = preset_bodies(find_preset("XINT8_ADAQUANT").value()).value();
  ASSERT_EQ(bodies.size(), 3u) << "xint8, then xint8_adaround";
  EXPECT_NE(bodies[0].find("quant_config")->find("enable_npu_cnn"), nullptr);
  EXPECT_EQ(bodies[2].find("quant_config"), nullptr) << "nothing is repeated";
  EXPECT_EQ(bodies[2].find("about"), nullptr);
  // A null removes a key of the base.
  EXPECT_FALSE(load("INT8_TRANSFORMER_ACCURATE").options.calib_moving_average);
}

/// A file may describe itself and extend a preset as presets do.
TEST(PresetTest, ACopyOfAPresetsFileIsASettingsFile) {
  const QuantConfig copy = config_from(to_yaml(find_preset("XINT8_ADAROUND").value().body)).value();
  EXPECT_EQ(copy.preset, "XINT8");
  EXPECT_EQ(to_node(copy), to_node(load("XINT8_ADAROUND")));
  EXPECT_FALSE(config_from("about: {summary: [1]}\nquant_config: {}").ok());
}

TEST(PresetTest, TheTargetOfAPresetDecidesByDefault) {
  const QuantConfig config = load("XINT8");
  EXPECT_EQ(config.target, "x1");
  EXPECT_EQ(config.legalize.opset, 17);
  EXPECT_EQ(config.origin_of("target"), Origin::kPreset);
  EXPECT_EQ(config.origin_of("legalize.opset"), Origin::kTarget);
  EXPECT_EQ(load("XINT8", {"legalize.opset=13"}).legalize.opset, 13);
  for (const char* preset : {"A8W8", "A16W8", "A8W8_ADAROUND"}) EXPECT_EQ(load(preset).target, "x2") << preset;
  EXPECT_EQ(load("VINT8").target, "gen2-vint8");
  EXPECT_EQ(config_from("preset: A8W8\nquant_config: {per_channel: true}").value().target, "x2");
}

TEST(PresetTest, WhatHasNoDefaultTarget) {
  for (const char* set : {"target=none", "--target=none", "quarkq.compat=quark-0.13", "--compat=quark-0.13"}) {
    const QuantConfig config = load("XINT8", {set});
    EXPECT_FALSE(config.legalize.opset) << set;
    Diagnostics ignored;
    EXPECT_FALSE(resolve(config, {}, ignored).value().target) << set;
  }
  EXPECT_FALSE(load("S8S8_AAWS").target);
  EXPECT_FALSE(config_from("quant_config: {}").value().target);
  EXPECT_EQ(load("XINT8", {"--target=x2"}).target, "x2");
}

TEST(PresetTest, NamesAreForgiving) {
  for (const char* name : {"xint8", "XINT8", "xint8.yaml", "XInt8.YAML"}) EXPECT_EQ(load(name).preset, "XINT8");
  const Result<PresetInfo> typo = find_preset("XNT8");
  ASSERT_FALSE(typo.ok());
  EXPECT_NE(typo.status().message().find("did you mean XINT8?"), std::string::npos) << typo.status().message();
}

TEST(PresetTest, AllResolve) {
  for (const PresetInfo& preset : presets()) {
    Diagnostics diagnostics;
    const Result<Settings> settings = resolve(load(preset.name), {}, diagnostics);
    EXPECT_TRUE(settings.ok()) << preset.name << ": " << settings.status().message();
  }
}

TEST(PresetTest, Xint8LeavesOutNoEffectOfTheNpu) {
  Diagnostics diagnostics;
  const Result<Settings> settings = resolve_text("preset: XINT8", diagnostics);
  ASSERT_TRUE(settings.ok());
  const std::vector<std::string> left_out = subjects(diagnostics, "option-left-out");
  for (const char* name : {"SimulateDPU", "AlignConcat", "NPULimitationCheck", "AdjustShiftCut"}) {
    EXPECT_FALSE(has(left_out, name)) << name;
  }
  EXPECT_FALSE(has(left_out, "CalibOptimizeMem") || has(left_out, "NumBins") || has(left_out, "AdjustBiasScale"));
}

TEST(PresetTest, A8w8LeavesOutNoAlignment) {
  Diagnostics diagnostics;
  ASSERT_TRUE(resolve_text("preset: A8W8", diagnostics).ok());
  const std::vector<std::string> left_out = subjects(diagnostics, "option-left-out");
  EXPECT_FALSE(has(left_out, "AlignConcat") || has(left_out, "SimulateDPU") || has(left_out, "AlignSlice") ||
               has(left_out, "FoldRelu"));
}

TEST(PresetTest, ResolvesToTheTableOfTheSpec) {
  const Settings xint8 = settings_of("preset: XINT8");
  EXPECT_EQ(xint8.quantizer, Quantizer::kNpuCnn);
  EXPECT_TRUE(xint8.formats.activation_symmetric && xint8.formats.weight_symmetric &&
              xint8.ranges.calib_tensor_range_symmetric);
  EXPECT_FALSE(xint8.bias.int32_bias);
  EXPECT_TRUE(xint8.npu.align_concat && xint8.npu.align_slice && xint8.npu.convert_sigmoid_to_hard_sigmoid);
  EXPECT_FALSE(xint8.npu.convert_softmax_to_dpu_version);

  const Settings vint8 = settings_of("preset: VINT8");
  EXPECT_EQ(vint8.quantizer, Quantizer::kCpu);
  EXPECT_FALSE(vint8.bias.int32_bias || vint8.preprocessing.optimize_model || vint8.preprocessing.fold_batch_norm ||
               vint8.qdq.remove_qdq_conv_relu);
  EXPECT_TRUE(vint8.qdq.dedicated_qdq_pair && vint8.selection.quantize_all_op_types && vint8.ranges.use_random_data);
  EXPECT_FALSE(vint8.preprocessing.split_large_kernel_pool);

  const Settings a8w8 = settings_of("preset: A8W8");
  EXPECT_EQ(a8w8.quantizer, Quantizer::kExtended);
  EXPECT_TRUE(a8w8.formats.activation_symmetric && a8w8.bias.int32_bias && a8w8.preprocessing.convert_bn_to_conv &&
              a8w8.npu.align_concat);
  EXPECT_FALSE(a8w8.ranges.calib_tensor_range_symmetric || a8w8.npu.align_pool ||
               a8w8.npu.convert_leaky_relu_to_dpu_version);

  const Settings cnn = settings_of("preset: INT8_CNN_DEFAULT");
  EXPECT_EQ(cnn.quantizer, Quantizer::kCpu);
  EXPECT_FALSE(cnn.formats.activation_symmetric || cnn.preprocessing.convert_bn_to_conv ||
               cnn.selection.matmul_const_b_only);
  EXPECT_TRUE(cnn.formats.weight_symmetric && cnn.bias.int32_bias && cnn.preprocessing.fold_batch_norm);

  const Settings transformer = settings_of("preset: INT8_TRANSFORMER_DEFAULT");
  EXPECT_EQ(transformer.quantizer, Quantizer::kNpuTransformer);
  EXPECT_TRUE(transformer.ranges.calib_moving_average && transformer.preprocessing.convert_bn_to_conv &&
              transformer.selection.matmul_const_b_only);
  EXPECT_EQ(settings_of("preset: INT16_TRANSFORMER_DEFAULT").quantizer, Quantizer::kExtended);
}

TEST(PresetTest, Vint8WithNpuFlagIsXint8) {
  EXPECT_EQ(settings_of("preset: VINT8\nquant_config: {enable_npu_cnn: true}").quantizer, Quantizer::kNpuCnn);
}

TEST(PresetTest, OriginsAreKept) {
  Diagnostics diagnostics;
  const Result<Settings> settings = resolve(load("XINT8", {"CalibDataSize=7"}), {}, diagnostics);
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings.value().origin_of("ForceQuantizeNoInputCheck"), Origin::kPreset);
  EXPECT_EQ(settings.value().origin_of("CalibDataSize"), Origin::kSet);
  EXPECT_EQ(settings.value().origin_of("per_channel"), Origin::kDefault);
  EXPECT_NE(resolved_text(settings.value(), "# ").find("# CalibDataSize: 7  (--set)\n"), std::string::npos);
}

}  // namespace
}  // namespace quarkq::config
