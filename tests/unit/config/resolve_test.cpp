// SPDX-License-Identifier: MIT
// From what was asked to what holds: quantizer, dependent defaults, forced changes, refusals and notices.
#include "config/resolve.h"

#include "config_support.h"

namespace quarkq::config {
namespace {

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(ResolveTest, ChoosesTheQuantizerByTheTable) {
  const struct {
    CalibrateMethod method;
    QuantFormat format;
    bool npu_cnn, npu_transformer;
    Quantizer quantizer;
  } rows[] = {
      {CalibrateMethod::kMinMax, QuantFormat::kQOperator, false, false, Quantizer::kQOperator},
      {CalibrateMethod::kMinMax, QuantFormat::kQdq, false, true, Quantizer::kNpuTransformer},
      {CalibrateMethod::kMinMax, QuantFormat::kQdq, true, false, Quantizer::kCpu},
      {CalibrateMethod::kLayerWisePercentile, QuantFormat::kQdq, false, false, Quantizer::kCpu},
      {CalibrateMethod::kEntropy, QuantFormat::kExtendedQdq, true, true, Quantizer::kExtended},
      {CalibrateMethod::kMinMSE, QuantFormat::kQOperator, true, false, Quantizer::kQOperator},
      {CalibrateMethod::kMinMSE, QuantFormat::kQdq, true, false, Quantizer::kNpuCnn},
      {CalibrateMethod::kNonOverflow, QuantFormat::kQdq, false, true, Quantizer::kCpu},
      {CalibrateMethod::kInt16MinMax, QuantFormat::kQdq, true, false, Quantizer::kNpuCnn},
      {CalibrateMethod::kMinMSE, QuantFormat::kExtendedQdq, true, false, Quantizer::kExtended},
  };
  for (const auto& row : rows) {
    Settings settings;
    settings.ranges.calibrate_method = row.method;
    settings.formats.quant_format = row.format;
    settings.npu.enable_npu_cnn = row.npu_cnn;
    settings.npu.enable_npu_transformer = row.npu_transformer;
    EXPECT_EQ(choose_quantizer(settings), row.quantizer) << enum_text(row.method) << " " << enum_text(row.format);
  }
  Settings settings;
  settings.matmul_nbits.use_matmul_nbits = true;
  EXPECT_EQ(choose_quantizer(settings), Quantizer::kMatMulNBits);
  settings.formats.use_dynamic_quant = true;
  EXPECT_EQ(choose_quantizer(settings), Quantizer::kDynamic);
}

TEST(ResolveTest, SymmetryDefaultsFollowTheTypes) {
  const Settings u8 = settings_of("quant_config: {activation_type: QUInt8, weight_type: QUInt8}");
  EXPECT_FALSE(u8.formats.activation_symmetric || u8.formats.weight_symmetric);
  const Settings s8 = settings_of("quant_config: {}");
  EXPECT_FALSE(s8.formats.activation_symmetric);
  EXPECT_TRUE(s8.formats.weight_symmetric);
}

TEST(ResolveTest, CalibrationDefaultsFollowTheMethod) {
  const Settings pow2 = settings_of("quant_config: {calibrate_method: PowerOfTwoMethod.MinMSE}");
  EXPECT_TRUE(pow2.ranges.calib_tensor_range_symmetric);
  EXPECT_EQ(pow2.ranges.num_bins, OptInt(2048));
  const Settings min_max = settings_of("quant_config: {}");
  EXPECT_FALSE(min_max.ranges.calib_tensor_range_symmetric);
  EXPECT_FALSE(min_max.ranges.num_bins.has_value());
  EXPECT_EQ(min_max.ranges.percentile, 99.999);
  EXPECT_EQ(min_max.ranges.calib_moving_average_constant, 0.01);
}

TEST(ResolveTest, BodiesAreQuantizedByDefaultOnly) {
  const std::string asked = "preset: UINT8_DYNAMIC_QUANT\nextra_options: {EnableSubgraph: true}";
  EXPECT_TRUE(settings_of("preset: XINT8\nextra_options: {EnableSubgraph: true}").selection.enable_subgraph);
  EXPECT_TRUE(settings_of(asked).selection.enable_subgraph);
  EXPECT_TRUE(mentions(refusal_of(asked + "\nquarkq: {compat: quark-0.13}", Code::kUnsupported),
                       "option EnableSubgraph true (file) with --compat quark-0.13"));
}

TEST(ResolveTest, Float8TypesRaiseTheOpset) {
  const auto opset_of = [](const std::string& fields) {
    return settings_of("quant_config: {" + fields + "}").preprocessing.convert_opset_version;
  };
  EXPECT_EQ(opset_of("weight_type: QuantType.QInt8"), OptInt());
  EXPECT_EQ(opset_of("weight_type: QuantType.QFLOAT8E4M3FN"), OptInt(21));
  EXPECT_EQ(opset_of("activation_type: QuantType.QFLOAT8E4M3FN, weight_type: QuantType.QFLOAT8E4M3FN"), OptInt(21));
}

TEST(ResolveTest, OperatorsOnIntegersTakeBytes) {
  const Settings plain = settings_of("quant_config: {quant_format: QOperator}");
  EXPECT_TRUE(plain.inserts_qdq());
  EXPECT_TRUE(plain.writes_integer_operators());
  EXPECT_EQ(
      refusal_of("quant_config: {quant_format: QOperator, activation_type: QInt16}"),
      "activation_type: found ExtendedQuantType.QInt16 (file) with quant_format QuantFormat.QOperator, allowed are "
      "QuantType.QInt8 and QuantType.QUInt8");
  EXPECT_TRUE(
      mentions(refusal_of("quant_config: {quant_format: QOperator}\nquarkq: {compat: quark-0.13}", Code::kUnsupported),
               "quant_format QuantFormat.QOperator (file) with --compat quark-0.13"));
}

TEST(ResolveTest, OffValuesAreTaken) {
  Diagnostics diagnostics;
  const Result<Settings> settings = resolve_text(
      "preset: XINT8\nquant_config: {include_cle: false}\n"
      "extra_options: {AlignConcat: false, MinMSEModePof2Scale: All, NumBins: null, SimplifyModel: false, "
      "CopyBiasInit: [],"
      " WeightCalibrateMethod: CalibrationMethod.MinMax, Percentile: 99.999, TensorQuantOverrides: {}}",
      diagnostics);
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  const std::vector<std::string> left_out = subjects(diagnostics, "option-left-out");
  EXPECT_FALSE(has(left_out, "AlignConcat") || has(left_out, "include_cle") || has(left_out, "SimplifyModel"));
}

TEST(ResolveTest, InertSettingsAreNoticed) {
  Diagnostics diagnostics;
  ASSERT_TRUE(resolve_text("preset: XINT8\nextra_options: {CalibOptimizeDisk: true, TmpDir: scratch}\n"
                           "quant_config: {execution_providers: [X]}",
                           diagnostics)
                  .ok());
  const std::vector<std::string> inert = subjects(diagnostics, "option-inert");
  for (const char* name : {"CalibOptimizeDisk", "TmpDir", "execution_providers"}) EXPECT_TRUE(has(inert, name));
}

TEST(ResolveTest, Xint8RestrictionsNameBothSettings) {
  EXPECT_EQ(refusal_of("preset: XINT8\nquant_config: {per_channel: true}"),
            "per_channel: found true (file) with enable_npu_cnn true, allowed is false");
  EXPECT_TRUE(mentions(refusal_of("preset: XINT8\nquant_config: {reduce_range: true}"), "reduce_range"));
  EXPECT_TRUE(mentions(refusal_of("preset: XINT8\nquant_config: {weight_type: QUInt8}"), "allowed is QuantType.QInt8"));
  EXPECT_TRUE(mentions(refusal_of("preset: XINT8\nextra_options: {WeightSymmetric: false}"), "WeightSymmetric"));
  EXPECT_TRUE(
      mentions(refusal_of("preset: XINT8\nextra_options: {ActivationSymmetric: false}"), "ActivationSymmetric"));
  EXPECT_TRUE(settings_of("preset: XINT8\nextra_options: {ActivationSymmetric: null}").formats.activation_symmetric);
}

TEST(ResolveTest, WideBitsNeedTheExtendedFormat) {
  EXPECT_EQ(refusal_of("quant_config: {activation_type: QInt32}"),
            "activation_type: found ExtendedQuantType.QInt32 with quant_format QuantFormat.QDQ, allowed is "
            "ExtendedQuantFormat.QDQ");
}

TEST(ResolveTest, ContradictionsAreRefused) {
  EXPECT_TRUE(mentions(
      refusal_of("quant_config: {calibrate_method: ExtendedCalibrationMethod.MinMSE}\nquarkq: {compat: quark-0.13}"),
      "calibrate_method"));
  EXPECT_TRUE(mentions(refusal_of("preset: A8W8\nextra_options: {CalibDataSize: -1}"), "CalibDataSize"));
  EXPECT_TRUE(
      mentions(refusal_of("preset: A8W8\nextra_options: {TensorQuantOverrides: {t: 3}}"), "allowed is a list of maps"));
  EXPECT_TRUE(mentions(refusal_of("quant_config: {subgraphs_to_exclude: [3]}"), "subgraphs_to_exclude[0]"));
}

TEST(ResolveTest, AFloat16ModelIsQuantizedAsItIs) {
  Diagnostics diagnostics;
  ModelFacts facts;
  facts.all_float16 = true;
  const Result<Settings> settings = resolve_text("preset: A8W8\ntarget: none", diagnostics, facts);
  ASSERT_TRUE(settings.ok());
  EXPECT_TRUE(settings.value().formats.quantize_fp16 && settings.value().formats.use_fp32_scale);
  EXPECT_FALSE(settings.value().preprocessing.optimize_model || settings.value().preprocessing.fold_batch_norm);
  EXPECT_EQ(settings.value().origin_of("QuantizeFP16"), Origin::kForced);
  EXPECT_TRUE(has(subjects(diagnostics, "setting-forced"), "QuantizeFP16"));
}

TEST(ResolveTest, GlobalConfigGivesTheFields) {
  const Settings s = settings_of(
      "global_config: {input_tensors: XInt8Spec, weight: XInt8Spec}\n"
      "extra_options: {ForceQuantizeNoInputCheck: true}");
  EXPECT_EQ(s.quantizer, Quantizer::kNpuCnn);
  EXPECT_EQ(s.ranges.calibrate_method, CalibrateMethod::kMinMSE);
  EXPECT_EQ(s.formats.activation_type, DataType::kInt8);
  EXPECT_TRUE(s.npu.enable_npu_cnn && s.formats.activation_symmetric && s.formats.weight_symmetric);
  EXPECT_FALSE(s.algorithms.include_cle || s.formats.per_channel);
}

TEST(ResolveTest, GlobalConfigMapsMethodsFormatAndGranularity) {
  const Settings s = settings_of(
      "global_config:\n  input_tensors: {spec: Int16Spec, calibration_method: MinMax}\n"
      "  weight: {spec: UInt8Spec, calibration_method: MinMax, quant_granularity: Channel}\n");
  EXPECT_EQ(s.ranges.calibrate_method, CalibrateMethod::kMinMax);
  EXPECT_EQ(s.formats.quant_format, QuantFormat::kExtendedQdq);
  EXPECT_EQ(s.quantizer, Quantizer::kExtended);
  EXPECT_TRUE(s.formats.per_channel && s.formats.activation_symmetric);
  EXPECT_FALSE(s.formats.weight_symmetric);
  EXPECT_EQ(s.ranges.weight_calibrate_method, OptMethod(CalibrateMethod::kMinMax));
  const Settings pow2 = settings_of(
      "global_config: {input_tensors: {spec: XInt8Spec, calibration_method: MinMax}, "
      "weight: XInt8Spec}\nextra_options: {EnableNPUCnn: false}");
  EXPECT_EQ(pow2.ranges.calibrate_method, CalibrateMethod::kNonOverflow);
  EXPECT_EQ(pow2.quantizer, Quantizer::kCpu);
  EXPECT_FALSE(pow2.ranges.weight_calibrate_method.has_value());
  EXPECT_EQ(settings_of("global_config: {input_tensors: Int8Spec, weight: Int8Spec}").ranges.calibrate_method,
            CalibrateMethod::kPercentile);
  EXPECT_TRUE(mentions(refusal_of("global_config: {input_tensors: MX4Spec, weight: MX6Spec}"), "MX6"));
}

TEST(ResolveTest, AlgorithmsSwitchTheirFlagOn) {
  const std::string base = "global_config: {input_tensors: XInt8Spec, weight: XInt8Spec}\nalgo_config: ";
  EXPECT_TRUE(settings_of(base + "[{name: adaround}]").algorithms.include_fast_ft);
  EXPECT_TRUE(settings_of(base + "[{name: cle}]").algorithms.include_cle);
  EXPECT_TRUE(settings_of(base + "[{name: gptq}]").algorithms.use_gptq);
}

TEST(ResolveTest, FieldKeysSetTheirFieldExceptInCompatMode) {
  const std::string text = "preset: XINT8\nextra_options: {OptimizeModel: false}\n";
  EXPECT_FALSE(settings_of(text).preprocessing.optimize_model);
  EXPECT_TRUE(settings_of(text + "quarkq: {compat: quark-0.13}").preprocessing.optimize_model);
}

TEST(ResolveTest, ExcludesAreGathered) {
  const Settings s = settings_of("preset: XINT8\nquant_config: {nodes_to_exclude: [a, ^b.*]}\nexclude: [c]");
  ASSERT_EQ(s.exclude_selectors.size(), 3u);
  EXPECT_EQ(s.exclude_selectors[1].kind, Selector::Kind::kPattern);
  EXPECT_EQ(s.exclude_selectors[2].text, "c");
}

TEST(ResolveTest, RandomCalibrationIsUseRandomData) {
  EXPECT_TRUE(settings_of("preset: XINT8\ncalibration: {random: true}").ranges.use_random_data);
}

TEST(ValidateTest, FindsSettingsWithoutEffectAndConflicts) {
  const Settings s = settings_of(
      "preset: A8W8\nquant_config: {nodes_to_quantize: [n]}\nexclude: [n, ^bad]\ncalibration: {dir: d}\n"
      "extra_options: {BFPAttributes: {axis: 1}, CalibMovingAverageConstant: 0.1, UseRandomData: true}");
  Diagnostics diagnostics;
  validate(s, Asked::kAtAll, diagnostics);
  const std::vector<std::string> inert = subjects(diagnostics, "option-no-effect");
  for (const char* name : {"FoldRelu", "BFPAttributes", "CalibMovingAverageConstant", "^bad"})
    EXPECT_TRUE(has(inert, name)) << name;
  const std::vector<std::string> conflicts = subjects(diagnostics, "setting-conflict");
  EXPECT_TRUE(has(conflicts, "n") && has(conflicts, "UseRandomData"));
}

TEST(ValidateTest, APlainPresetIsClean) {
  Diagnostics diagnostics;
  validate(settings_of("preset: XINT8"), Asked::kAtAll, diagnostics);
  EXPECT_TRUE(diagnostics.all().empty());
  validate(settings_of("preset: A8W8"), Asked::kByUser, diagnostics);  // FoldRelu is the preset's
  EXPECT_TRUE(diagnostics.all().empty());
}

}  // namespace
}  // namespace quarkq::config
