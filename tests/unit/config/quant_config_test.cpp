// SPDX-License-Identifier: MIT
// Reading settings files: both forms of the API, merging, --set, refusals that name key and place, and the way back to
// text.
#include "config/quant_config.h"

#include "config/print.h"
#include "config_support.h"

namespace quarkq::config {
namespace {

/// The example with everything in it.
constexpr const char* kFullExample = R"yaml(
input_model_path: model_fp32.onnx
output_model_path: model_int8.onnx
global_config:
  input_tensors: {data_type: Int8, symmetric: true, scale_type: ScaleType.Float32,
                  calibration_method: CalibMethod.MinMax, quant_granularity: QuantGranularity.Tensor}
  weight:        {data_type: Int8, symmetric: true, scale_type: ScaleType.Float32,
                  calibration_method: CalibMethod.MinMSE, quant_granularity: QuantGranularity.Channel}
specific_layer_config:
  - config: {input_tensors: Int16Spec, weight: Int16Spec, bias: Int16Spec, output_tensors: Int16Spec}
    layers: ["/conv1/Conv", "^/conv2/.*", {starts: [Conv1, Conv2], ends: [Relu9, MatMul10]}]
layer_type_config:
  - {config: {input_tensors: Int8Spec, weight: Int16Spec}, op_types: [Conv, ConvTranspose]}
  - {config: null, op_types: [MatMul, Gemm]}
exclude: ["/head/Conv", "^/layer0/.*", [["/model.22/Concat_3"], ["/model.22/Concat_5"]]]
algo_config:
  - {name: cle, cle_steps: 2}
  - {name: adaround, learning_rate: 0.1, num_iterations: 1000}
use_external_data_format: false
extra_options:
  Percentile: 99.999
  RemoveQDQBetweenOps: [[Conv, Relu]]
  TensorQuantOverrides:
    /model/conv_1/weight: [{quant_type: QuantType.QInt8, axis: 1}]
    /model/conv_2/output_0: [{quant_type: ExtendedQuantType.QBFP}]
  QuantizationPreference: accuracy
calibration: {dir: calib_npy}
)yaml";

QuantConfig config_of(const std::string& yaml) {
  const Result<QuantConfig> config = config_from(yaml);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.ok() ? config.value() : QuantConfig{};
}

std::string error_of(const std::string& yaml) {
  const Result<QuantConfig> config = config_from(yaml);
  EXPECT_FALSE(config.ok()) << yaml;
  EXPECT_EQ(config.status().code(), Code::kInvalidArgument);
  return config.status().message();
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(QuantConfigTest, ReadsTheFullExample) {
  const QuantConfig config = config_of(kFullExample);
  EXPECT_EQ(config.mode, QuantConfig::Mode::kLayers);
  EXPECT_EQ(config.global_config->weight->quant_granularity, QuantGranularity::kChannel);
  ASSERT_EQ(config.specific_layer_config.size(), 1u);
  ASSERT_EQ(config.specific_layer_config[0].layers.size(), 3u);
  EXPECT_EQ(config.specific_layer_config[0].layers[1].kind, Selector::Kind::kPattern);
  EXPECT_EQ(config.specific_layer_config[0].layers[2].ends, (std::vector<std::string>{"Relu9", "MatMul10"}));
  EXPECT_FALSE(config.layer_type_config[1].config.has_value());
  EXPECT_EQ(config.exclude[2].kind, Selector::Kind::kSubgraph);
  EXPECT_EQ(config.algo_config[0].name, "cle");
  EXPECT_EQ(*config.calibration.dir, "calib_npy");
  EXPECT_EQ(config.options.tensor_quant_overrides->node.entries().size(), 2u);
}

TEST(QuantConfigTest, RoundTrips) {
  for (const std::string& text :
       {std::string(kFullExample),
        std::string("preset: VINT8\nextra_options: {ConvertOpsetVersion: null, OptimizeModel: false}\n"
                    "quarkq: {threads: 2, compat: quark-0.13}\npreprocess: {layout: NCHW}\n"
                    "evaluation: {dir: e}\nuse_external_data_format: true")}) {
    const QuantConfig config = config_of(text);
    const std::string written = to_yaml(config);
    EXPECT_EQ(to_node(config_of(written)), to_node(config)) << written;
    EXPECT_EQ(to_node(config_of(to_json(to_node(config)))), to_node(config));
  }
}

TEST(QuantConfigTest, TakesTheReferencesDictForm) {
  const QuantConfig config = config_of(R"({"global_config": {"input_tensors": {"data_type": "Int8", "symmetric": true,
    "scale_type": "ScaleType.PowerOf2", "calibration_method": "CalibMethod.MinMSE", "quant_granularity":
    "QuantGranularity.Tensor"}, "weight": {"data_type": "Int8", "symmetric": true, "scale_type": "ScaleType.PowerOf2",
    "calibration_method": "CalibMethod.MinMSE", "quant_granularity": "QuantGranularity.Tensor"}},
    "specific_layer_config": [[{"input_tensors": {"data_type": "Int16"}}, ["a"]]],
    "layer_type_config": [[null, ["Gemm"]]],
    "exclude": ["b"], "algo_config": [], "use_external_data_format": false, "extra_options": {}})");
  EXPECT_EQ(config.specific_layer_config[0].config->input_tensors->type, DataType::kInt16);
  EXPECT_EQ(config.layer_type_config[0].op_types, std::vector<std::string>{"Gemm"});
}

TEST(QuantConfigTest, UnknownKeysNameTheNearestAndThePlace) {
  EXPECT_EQ(error_of("preset: XINT8\nextra_options:\n  Percentil: 99.9\n"),
            "t.yaml:3: extra_options.Percentil: unknown option, did you mean Percentile?");
  EXPECT_EQ(error_of("preset: XINT8\nquant_config: {per_chanel: true}\n"),
            "t.yaml:2: quant_config.per_chanel: unknown key, did you mean per_channel?");
  EXPECT_TRUE(contains(error_of("presett: XINT8"), "did you mean preset?"));
  EXPECT_EQ(error_of("preset: XINT8\nInt32Bias: true\n"),
            "t.yaml:2: Int32Bias: found at the top level, it belongs below extra_options");
  EXPECT_EQ(error_of("preset: XINT8\nper_channel: true\n"),
            "t.yaml:2: per_channel: found at the top level, it belongs below quant_config");
  EXPECT_TRUE(contains(error_of("preset: XINT88"), "did you mean XINT8?"));
  EXPECT_TRUE(contains(error_of("preset: XINT8\nquarkq: {thread: 1}"), "did you mean threads?"));
  EXPECT_TRUE(contains(error_of("preset: XINT8\nalgo_config: [{name: cle, cle_step: 1}]"), "did you mean cle_steps?"));
  EXPECT_TRUE(
      contains(error_of("global_config: {input_tensors: Int8Spek, weight: Int8Spec}"), "did you mean Int8Spec?"));
}

TEST(QuantConfigTest, UnknownOptionsPassWhenAllowed) {
  const QuantConfig config =
      config_of("preset: XINT8\nextra_options: {NoSuch: 1}\nquarkq: {allow_unknown_options: true}");
  EXPECT_EQ(config.unknown_options.size(), 1u);
  EXPECT_TRUE(has(subjects(config.findings, "option-unknown"), "NoSuch"));
}

TEST(QuantConfigTest, WrongTypesNameKeyFoundAndAllowed) {
  EXPECT_EQ(error_of("preset: XINT8\nextra_options:\n  CalibDataSize: ten\n"),
            "t.yaml:3: extra_options.CalibDataSize: found \"ten\", allowed is an integer");
  EXPECT_EQ(error_of("quant_config: {per_channel: 1}"),
            "t.yaml:1: quant_config.per_channel: found 1, allowed is true or false");
  EXPECT_TRUE(contains(error_of("quant_config: {per_channel: \"true\"}"), "found \"true\""));
  EXPECT_TRUE(contains(error_of("quant_config: {nodes_to_exclude: conv}"), "allowed is a list of texts"));
  EXPECT_TRUE(contains(error_of("quant_config: [1]"), "found a list of 1, allowed is a map"));
  EXPECT_TRUE(contains(error_of("quant_config: {activation_type: QInt9}"), "allowed are QuantType.QInt8"));
  EXPECT_TRUE(contains(error_of("quant_config: {}\nextra_options: {Percentile: .nan}"), "a finite number"));
  EXPECT_TRUE(contains(error_of("quant_config: {}\nexclude: [3]"), "exclude[0]: found 3"));
}

TEST(QuantConfigTest, NeedsExactlyOneForm) {
  EXPECT_TRUE(contains(error_of("preset: XINT8\nglobal_config: {input_tensors: Int8Spec, weight: Int8Spec}"),
                       "together with preset"));
  EXPECT_TRUE(contains(error_of("extra_options: {}"), "one is needed"));
  EXPECT_TRUE(contains(error_of("global_config: {weight: Int8Spec}"), "needs input_tensors"));
  EXPECT_TRUE(contains(error_of("- a"), "allowed is a map"));
}

TEST(QuantConfigTest, MergesByKeyAndNestedMapsByInnerKey) {
  const QuantConfig config = config_of(
      "preset: XINT8_ADAROUND\nquant_config: {include_cle: false}\n"
      "extra_options: {FastFinetune: {BatchSize: 9, EarlyStop: null}, ActivationSymmetric: null, Int32Bias: true}");
  EXPECT_EQ(config.fields.enable_npu_cnn, true);
  EXPECT_EQ(config.fields.include_cle, false);
  const Node& tuning = config.options.fast_finetune->node;
  EXPECT_EQ(tuning.find("BatchSize")->as_int(), 9);
  EXPECT_EQ(tuning.find("DataSize")->as_int(), 1000);
  EXPECT_EQ(tuning.find("EarlyStop"), nullptr);
  EXPECT_FALSE(config.options.activation_symmetric.has_value());
  EXPECT_FALSE(config.origins.contains("ActivationSymmetric"));
  EXPECT_EQ(config.origin_of("FastFinetune"), Origin::kFile);
  EXPECT_EQ(config.origin_of("ForceQuantizeNoInputCheck"), Origin::kPreset);
}

TEST(QuantConfigTest, AnEmptyBlockChangesNothing) {
  EXPECT_EQ(to_node(config_of("preset: XINT8\nextra_options:\nquant_config:\n")), to_node(config_of("preset: XINT8")));
}

TEST(QuantConfigTest, SetsTakeAnyForm) {
  const Result<QuantConfig> config =
      load_config("XINT8", {"Int32Bias=true", "per_channel=false", "extra_options.CalibDataSize=3",
                            "FastFinetune.BatchSize=4", "quarkq.seed=5", "exclude=[a, b]", "OpTypesToQuantize=[Conv]"});
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config.value().options.int32_bias, true);
  EXPECT_EQ(config.value().fields.per_channel, false);
  EXPECT_EQ(config.value().options.calib_data_size, OptInt(3));
  EXPECT_EQ(config.value().options.fast_finetune->node.find("BatchSize")->as_int(), 4);
  EXPECT_EQ(config.value().tool.seed, 5);
  EXPECT_EQ(config.value().exclude.size(), 2u);
  EXPECT_EQ(config.value().origin_of("Int32Bias"), Origin::kSet);
  ASSERT_EQ(config.value().field_keys.size(), 1u);
}

TEST(QuantConfigTest, BadSetsAreRefused) {
  EXPECT_TRUE(contains(load_config("XINT8", {"Int32Bia=true"}).status().message(), "did you mean Int32Bias?"));
  EXPECT_TRUE(contains(load_config("XINT8", {"Int32Bias"}).status().message(), "allowed is key=value"));
  EXPECT_TRUE(contains(load_config("XINT8", {"Int32Bias=3"}).status().message(), "--set Int32Bias=3: "));
  EXPECT_TRUE(contains(load_config("XINT8", {"quant_config.per_chan=true"}).status().message(), "unknown key"));
  EXPECT_FALSE(load_config("XINT8", {"Int32Bias=[["}).ok());
}

TEST(QuantConfigTest, NoMutationCrashesOrGetsAnotherCode) {
  const std::vector<std::string> seeds = {kFullExample,
                                          "preset: VINT8\nquant_config: {enable_npu_cnn: true, per_channel: false,"
                                          " activation_type: QInt8}\nextra_options: {NumBins: 3, FixShapes: a}"};
  const std::string alphabet = "{}[]:,-'\"# \nabtf01.~";
  uint32_t state = 7;
  const auto next = [&state](size_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
  };
  for (int round = 0; round < 2000; ++round) {
    std::string text = seeds[next(seeds.size())];
    for (int edits = 0; edits < 3; ++edits) {
      const size_t at = next(text.size());
      if (next(2) == 0) text.erase(at, 1 + next(12));
      text.insert(std::min(at, text.size()), 1, alphabet[next(alphabet.size())]);
    }
    const Status status = resolve_text(text).status();
    EXPECT_TRUE(status.ok() || status.code() == Code::kInvalidArgument || status.code() == Code::kUnsupported)
        << text << status.message();
  }
}

TEST(QuantConfigTest, DeprecatedNamesAreTakenWithANotice) {
  const QuantConfig config =
      config_of("quant_config: {activation_type: VitisQuantType.QInt16, quant_format: FixNeuron}");
  EXPECT_EQ(config.fields.activation_type, DataType::kInt16);
  EXPECT_EQ(config.fields.quant_format, QuantFormat::kExtendedQdq);
  EXPECT_EQ(subjects(config.findings, "deprecated-name").size(), 2u);
  EXPECT_EQ(config_of("quant_config: {quant_format: VitisQuantFormat.BFPFixNeuron}").fields.weight_type,
            DataType::kBfp);
}

}  // namespace
}  // namespace quarkq::config
