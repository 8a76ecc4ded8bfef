// SPDX-License-Identifier: MIT
// Refusals of single settings: each names the setting, what was found and what is allowed, and the ends of each range
// are taken.
#include "config/format_settings.h"
#include "unit/config/config_support.h"

namespace quarkq::config {
namespace {

struct RefusedText {
  const char* yaml;
  const char* said;
};

void expect_refused_texts(const std::string& base, const std::vector<RefusedText>& rows) {
  for (const RefusedText& row : rows) {
    const std::string message = refusal_of(base + row.yaml);
    EXPECT_NE(message.find(row.said), std::string::npos) << row.yaml << "\n" << message;
  }
}

void expect_taken(const std::string& base, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) settings_of(base + text);
}

TEST(RefusedSettingsTest, TheToolsOwnBlock) {
  expect_refused_texts(
      "preset: A8W8\nquarkq: ",
      {{"{min_cosine: -1.5}", "quarkq.min_cosine: found -1.5, allowed is -1 to 1"},
       {"{range_headroom: 0.5}", "quarkq.range_headroom: found 0.5, allowed is 1 (none) to 16"},
       {"{range_headroom: 17}", "quarkq.range_headroom: found 17, allowed is 1 (none) to 16"},
       {"{range_headroom: .nan}", "quarkq.range_headroom: found .nan, allowed is a finite number"},
       {"{verify_samples: 0}", "quarkq.verify_samples: found 0, allowed is 1 or more"},
       {"{threads: -1}", "quarkq.threads: found -1, allowed is 0 (all) to 1024"},
       {"{threads: 1025}", "quarkq.threads: found 1025, allowed is 0 (all) to 1024"},
       {"{threads: 1.5}", "quarkq.threads: found 1.5, allowed is an integer"},
       {"{exclude_tracking: loose}", "quarkq.exclude_tracking: found loose, allowed is strict or quark"},
       {"{on_collapse: hope}", "quarkq.on_collapse: found hope, allowed is rescue or warn or fail"},
       {"{rounding: up}", "quarkq.rounding: found up, allowed is nearest or compensated_weights or compensated"},
       {"{compat: quark-0.12}", "quarkq.compat: found quark-0.12, allowed is quark-0.13"},
       {"{rescue: [16_bits, 8_bits]}",
        "quarkq.rescue: found 8_bits, allowed is channel_scales or 16_bits or float_nodes"},
       {"{rescue: 16_bits}", "quarkq.rescue: found \"16_bits\", allowed is a list of texts"},
       {"{guards: maybe}", "t.yaml:2: quarkq.guards: found \"maybe\", allowed is on or off"},
       {"{metadata: 1}", "quarkq.metadata: found 1, allowed is true or false"},
       {"{guard: on}", "quarkq.guard: unknown key, did you mean guards?"},
       {"[]", "quarkq"}});
  expect_taken("preset: A8W8\nquarkq: ",
               {"{min_cosine: -1}", "{min_cosine: 1}", "{range_headroom: 1}", "{range_headroom: 16}", "{threads: 0}",
                "{threads: 1024}", "{verify_samples: 1}", "{rescue: []}", "{guards: null}", "{min_cosine: null}",
                "{metadata: false}"});
}

TEST(RefusedSettingsTest, TheBlockOfTargets) {
  expect_refused_texts("preset: XINT8\nlegalize: ",
                       {{"{opset: 0}", "legalize.opset: found 0, allowed is 1 or more"},
                        {"{most_opset: -3}", "legalize.most_opset: found -3, allowed is 1 or more"},
                        {"{batch: 0}", "legalize.batch: found 0, allowed is 1 or more"},
                        {"{most_rank: 2}", "legalize.most_rank: found 2, allowed is 3 or more"},
                        {"{node_names: 1}", "legalize.node_names: found 1, allowed is true or false"},
                        {"{shapes: [x]}", "legalize.shapes: found a list of 1, allowed is a map from inputs to shapes"},
                        {"{shapes: {x: 3}}", "legalize.shapes.x: found 3, allowed is a list of whole numbers"},
                        {"{shapes: {x: [1, 0]}}", "t.yaml:2: legalize.shapes.x: found 0, allowed is 1 or more"},
                        {"{shape: {x: [1]}}", "legalize.shape: unknown key, did you mean shapes?"}});
  EXPECT_EQ(settings_of("preset: XINT8\nlegalize: {shapes: {x: [2, 3]}, most_rank: 3}").legalize.shapes.at("x"),
            (std::vector<int64_t>{2, 3}));
  expect_taken("preset: XINT8\nlegalize: ", {"{shapes: null}", "{shapes: {x: []}}", "{}"});
}

TEST(RefusedSettingsTest, NumbersAndWordsOfCalibration) {
  expect_refused_texts(
      "preset: A8W8\nextra_options: ",
      {{"{CalibDataSize: -1}", "CalibDataSize: found -1, allowed is 0 (all) or more"},
       {"{CalibMovingAverageConstant: 1.01}", "CalibMovingAverageConstant: found 1.01, allowed is 0 to 1"},
       {"{Percentile: 100.5}", "Percentile: found 100.5, allowed is 0 to 100"},
       {"{Percentile: -1}", "Percentile: found -1, allowed is 0 to 100"},
       {"{LWPMetric: mad}", "LWPMetric: found mad, allowed is mae or mse"},
       {"{Scenario: other}", "Scenario: found other, allowed is same or p3"},
       {"{MinMSEModePof2Scale: all}", "MinMSEModePof2Scale: found all, allowed is All or MostCommon or Percentile"},
       {"{MinMSEModeFloatScale: Mean}", "MinMSEModeFloatScale: found Mean, allowed is Percentile or HistCenter or All"},
       {"{WeightCalibrateMethod: CalibrationMethod.Percentile}",
        "WeightCalibrateMethod: found CalibrationMethod.Percentile, allowed are CalibrationMethod.MinMax and "
        "ExtendedCalibrationMethod.MinMSE"},
       {"{TensorQuantOverrides: {t: [{scales: 1}]}}",
        "TensorQuantOverrides.t.scales: unknown key, did you mean scale?"}});
  expect_taken("preset: A8W8\nextra_options: ",
               {"{Percentile: 0}", "{Percentile: 100}", "{CalibMovingAverageConstant: 0}", "{CalibDataSize: 0}",
                "{MinMSEModeFloatScale: null}", "{LWPMetric: mse}"});
  // The reference takes other words for one of them.
  settings_of("preset: A8W8\nextra_options: {LWPMetric: mad}\nquarkq: {compat: quark-0.13}");
}

TEST(RefusedSettingsTest, ParametersOfTensorsAreFiniteAndWhole) {
  const auto read_one = [](const std::string& map) {
    return read_tensor_overrides(
        settings_of("preset: A8W8\nextra_options: {TensorQuantOverrides: {t: [" + map + "]}}"));
  };
  const RefusedText rows[] = {
      {"{scale: 1.0e+300, zero_point: 0}", "TensorQuantOverrides.t.scale: found 1e+300, allowed is a finite float32"},
      {"{scale: 1.0e-60, zero_point: 0}", "TensorQuantOverrides.t.scale: found 0, allowed is more than 0"},
      {"{scale: 0.5, zero_point: 1.5}", "TensorQuantOverrides.t.zero_point: found 1.5, allowed is a whole number"},
      {"{scale: 0.5, zero_point: 1.0e+20}",
       "TensorQuantOverrides.t.zero_point: found 1e+20, allowed is a whole number"},
      {"{rmin: -1.0e+300, rmax: 1}", "TensorQuantOverrides.t.rmin: found -1e+300, allowed is a finite float32"},
      {"{scale: [0.5, 0.25], zero_point: 0}", "TensorQuantOverrides.t.scale: found a list of 2"},
  };
  for (const RefusedText& row : rows) {
    const auto made = read_one(row.yaml);
    ASSERT_FALSE(made.ok()) << row.yaml;
    EXPECT_NE(made.status().message().find(row.said), std::string::npos) << made.status().message();
  }
  const auto taken = read_one("{scale: [0.5], zero_point: 65535}, {scale: 1.0e-30, zero_point: -32768}");
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  EXPECT_EQ(taken.value()[0].made.values[0].params->zero_point, 65535);
  EXPECT_EQ(taken.value()[0].made.values[1].params->zero_point, -32768);
}

TEST(RefusedSettingsTest, CombinationsOfSettings) {
  expect_refused_texts(
      "", {{"preset: A8W8\ntarget: x2\nquarkq: {compat: quark-0.13}",
            "--compat quark-0.13: found together with target x2; the reference does not support targets; leave out one of the "
            "two"},
           {"preset: A8W8\nquant_config: {weight_type: QuantType.QInt4}\nquarkq: {compat: quark-0.13}",
            "weight_type: found QuantType.QInt4 (file) with --compat quark-0.13: the reference cannot write them"},
           {"preset: A8W8\nquant_config: {calibrate_method: CalibrationMethod.Int16MinMax}", "calibrate_method"}});
}

std::string layers(const std::string& input, const std::string& weight) {
  return cat("global_config:\n  input_tensors: ", input, "\n  weight: ", weight, "\n");
}

TEST(RefusedSettingsTest, LayerFormsThatCannotBeMapped) {
  expect_refused_texts(
      "",
      {{"global_config:\n  input_tensors: {spec: Int8Spec, quant_granularity: Group}\n  weight: Int8Spec\n",
        "global_config.input_tensors.quant_granularity: found Group, allowed are Tensor and Channel"},
       {"global_config:\n  input_tensors: Int8Spec\n  weight: {spec: Int8Spec, quant_granularity: Group}\n",
        "global_config.weight.quant_granularity: found Group, allowed are Tensor and Channel"},
       {"global_config:\n  input_tensors: {spec: Int16Spec, scale_type: Int16, calibration_method: MinMax}\n  weight: "
        "Int8Spec\n",
        "found calibration_method CalibMethod.MinMax with scale_type ScaleType.Int16, allowed are ScaleType.Float32 "
        "and ScaleType.PowerOf2"},
       {"global_config:\n  input_tensors: MX9Spec\n  weight: MXInt8Spec\n",
        "found input_tensors MX9 and weight MXInt8, allowed are equal block formats, or BFPAttributes"}});
  const Settings given = settings_of(layers("MX4Spec", "MX6Spec") + "extra_options: {BFPAttributes: {axis: 2}}");
  EXPECT_EQ(to_flow(given.formats.bfp_attributes.node), "{axis: 2}");
}

TEST(MappedLayersTest, PowersOfTwoTakeAMethodThatGivesThem) {
  const std::string mismatch = layers("{spec: XInt8Spec, calibration_method: Percentile}", "XInt8Spec");
  Diagnostics guarded, plain;
  const Settings with_guards = resolve_text(mismatch, guarded).value();
  EXPECT_EQ(with_guards.ranges.calibrate_method, CalibrateMethod::kMinMSE);
  EXPECT_EQ(subjects(guarded, "method-mismatch"), std::vector<std::string>{"global_config.input_tensors"});
  const Settings without = resolve_text(mismatch + "quarkq: {guards: off}", plain).value();
  EXPECT_EQ(without.ranges.calibrate_method, CalibrateMethod::kPercentile);
  EXPECT_EQ(subjects(plain, "method-mismatch"), std::vector<std::string>{"global_config.input_tensors"});
}

TEST(MappedLayersTest, NoticesSayWhatIsTakenInstead) {
  Diagnostics found;
  const Result<Settings> made =
      resolve_text(layers("{spec: Int8Spec, calibration_method: MinMSE, quant_granularity: Group}", "XInt8Spec") +
                       "quarkq: {guards: off}\nextra_options: {WeightCalibrateMethod: CalibrationMethod.MinMax}",
                   found);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made.value().ranges.calibrate_method, CalibrateMethod::kMinMSE);
  EXPECT_EQ(subjects(found, "method-changed"), std::vector<std::string>{"global_config.input_tensors"});
  EXPECT_TRUE(has(subjects(found, "setting-no-effect"), "global_config.input_tensors.quant_granularity"));
  EXPECT_TRUE(has(subjects(found, "option-no-effect"), "WeightCalibrateMethod"));
}

TEST(MappedLayersTest, TheFirstTrainingCounts) {
  Diagnostics found;
  const Settings made = resolve_text(layers("XInt8Spec", "XInt8Spec") +
                                         "algo_config: [{name: adaround, num_iterations: 7}, {name: adaquant}]",
                                     found)
                            .value();
  EXPECT_EQ(subjects(found, "setting-no-effect"), std::vector<std::string>{"algo_config"});
  const Node& options = made.algorithms.fast_finetune.node;
  EXPECT_EQ(options.find("OptimAlgorithm")->as_text(), "adaround");
  EXPECT_EQ(options.find("NumIterations")->as_int(), 7);
  const Settings both = settings_of(layers("XInt8Spec", "XInt8Spec") +
                                    "algo_config: [{name: adaround, num_iterations: 7}]\nextra_options: {FastFinetune: "
                                    "{NumIterations: 9}}");
  EXPECT_EQ(both.algorithms.fast_finetune.node.find("NumIterations")->as_int(), 9) << "extra_options are stronger";
}

TEST(MappedLayersTest, AllRowsOfOneFormatHaveItsAttributes) {
  const std::pair<const char*, const char*> rows[] = {{"MX4Spec", "bit_width: 11"},
                                                      {"MX9Spec", "bit_width: 16"},
                                                      {"MXFP4E2M1Spec", "element_dtype: fp4_e2m1"},
                                                      {"MXInt8Spec", "element_dtype: int8"}};
  for (const auto& [spec, attribute] : rows) {
    const Settings made = settings_of(layers(spec, spec));
    const std::string text = to_flow(made.formats.bfp_attributes.node) + to_flow(made.formats.mx_attributes.node);
    EXPECT_NE(text.find(attribute), std::string::npos) << spec << " " << text;
    EXPECT_EQ(made.formats.bfp_attributes.node.entries().empty(), std::string_view(attribute).starts_with("element"));
  }
}

TEST(MappedLayersTest, ABlockFormatBesideIntegersHasItsAttributes) {
  const Settings named = settings_of(layers("MX9Spec", "Int8Spec")), preset = settings_of("preset: MX9_INT8");
  EXPECT_EQ(named.formats.bfp_attributes.node, preset.formats.bfp_attributes.node)
      << to_flow(named.formats.bfp_attributes.node);
  EXPECT_NE(to_flow(settings_of(layers("Int8Spec", "MXFP4E2M1Spec")).formats.mx_attributes.node).find("fp4_e2m1"),
            std::string::npos);
  const Settings compat = settings_of(layers("MX9Spec", "Int8Spec") + "quarkq: {compat: quark-0.13}");
  EXPECT_TRUE(compat.formats.bfp_attributes.node.entries().empty()) << "the reference takes the operator's defaults";
}

TEST(MappedLayersTest, DifferentBlockFormatsAreRefusedInEitherOrder) {
  const char* const specs[] = {"BFP16Spec", "MX4Spec", "MX9Spec", "MXInt8Spec", "MXFP8E4M3Spec"};
  for (const char* input : specs) {
    for (const char* weight : specs) {
      const Result<Settings> made = resolve_text(layers(input, weight));
      EXPECT_EQ(made.ok(), std::string_view(input) == weight) << input << " " << weight;
      if (!made.ok()) {
        EXPECT_NE(made.status().message().find("allowed are equal block formats"), std::string::npos);
      }
    }
  }
}

std::string block_layer(const std::string& spec) {
  return cat("specific_layer_config: [{config: {weight: ", spec, "}, layers: [a]}]\n");
}

TEST(MappedLayersTest, ABlockFormatOfOneLayerIsTheOneNamed) {
  const auto bfp = [](const std::string& yaml) { return to_flow(settings_of(yaml).formats.bfp_attributes.node); };
  EXPECT_EQ(bfp("preset: A8W8\n" + block_layer("MX9Spec")), bfp("preset: MX9"));
  EXPECT_EQ(bfp("preset: MX9\n" + block_layer("MX9Spec")), bfp("preset: MX9"));
  EXPECT_EQ(bfp("preset: BFP16\n" + block_layer("BFP16Spec")), bfp("preset: BFP16"));
  EXPECT_EQ(bfp("preset: A8W8\n" + block_layer("BFP16Spec")), "{}") << "the operator's defaults";
  EXPECT_EQ(bfp(layers("Int8Spec", "Int8Spec") + block_layer("MX6Spec")), bfp("preset: MX6"));
  EXPECT_EQ(bfp("preset: A8W8\nquarkq: {compat: quark-0.13}\n" + block_layer("MX9Spec")), "{}") << "as the reference";
  EXPECT_EQ(bfp("preset: A8W8\nextra_options: {BFPAttributes: {axis: 2}}\n" + block_layer("MX9Spec")), "{axis: 2}");
  const Settings mx = settings_of(
      "preset: A8W8\nlayer_type_config: [{config: {input_tensors: MXFP8E5M2Spec, weight: MXFP8E5M2Spec}, op_types: "
      "[Conv]}]");
  EXPECT_EQ(mx.formats.mx_attributes.node, settings_of("preset: MXFP8E5M2").formats.mx_attributes.node);
}

TEST(MappedLayersTest, LayersOfOtherBlockFormatsThanTheModelAreRefused) {
  expect_refused_texts(
      "", {{"preset: MX9\nspecific_layer_config: [{config: {weight: MX4Spec}, layers: [a]}]",
            "layer settings: found MX4 with BFPAttributes {"},
           {"preset: BFP16\nspecific_layer_config: [{config: {weight: MX9Spec}, layers: [a]}]",
            "(preset BFP16), which serve all tensors; allowed is one format, or BFPAttributes in"},
           {"preset: MX9\nspecific_layer_config: [{config: {weight: BFP16Spec}, layers: [a]}]", "found BFP16"},
           {"preset: A8W8\nspecific_layer_config: [{config: {input_tensors: BFP16Spec, weight: MX9Spec}, "
            "layers: [a]}]",
            "layer settings: found BFP16 and MX9 with BFPAttributes {}"},
           {"global_config: {input_tensors: MXInt8Spec, weight: MXInt8Spec}\nspecific_layer_config: "
            "[{config: {weight: MXFP4E2M1Spec}, layers: [a]}]",
            "layer settings: found MXFP4E2M1 and MXInt8 with MXAttributes {"}});
  settings_of("preset: MX9\n" + block_layer("MXInt8Spec"));  // another operator, with attributes of its own
}

}  // namespace
}  // namespace quarkq::config
