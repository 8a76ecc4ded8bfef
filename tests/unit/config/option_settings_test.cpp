// SPDX-License-Identifier: MIT
// Options that are maps of an algorithm's own parameters: what may stand there, and what it becomes.
#include <gtest/gtest.h>

#include "config/algorithms.h"
#include "config/format_settings.h"
#include "config/load.h"
#include "config/low_bit_weights.h"
#include "config/mixed_precision.h"
#include "config/rewrite_settings.h"
#include "config/sample_settings.h"

namespace quarkq::config {
namespace {

Node yaml(const std::string& text) { return parse_text(text, "test").value(); }

template <typename T>
std::string refusal(const Result<T>& result) {
  return result.ok() ? "taken" : result.status().message();
}

TEST(OptionSettingsTest, FinetuneHasDefaultsOfItsAlgorithm) {
  Settings settings;
  EXPECT_EQ(read_finetune_settings(settings).value().learning_rate, 0.1);
  settings.algorithms.fast_finetune.node =
      yaml("{OptimAlgorithm: AdaQuant, BetaRange: [], MemoryBudgetMB: 2, DataSize: null}");
  const FinetuneSettings made = read_finetune_settings(settings).value();
  EXPECT_EQ(made.algorithm, FinetuneAlgorithm::kAdaQuant);
  EXPECT_EQ(made.learning_rate, 1e-5);
  EXPECT_EQ(made.beta_start, 20);
  EXPECT_EQ(made.unit, FinetuneUnit::kLayer);
  settings.algorithms.fast_finetune.node = yaml("{Unit: block}");
  EXPECT_EQ(read_finetune_settings(settings).value().unit, FinetuneUnit::kBlock);
  EXPECT_EQ(made.memory_budget, 2000000);
}

TEST(OptionSettingsTest, FinetuneTellsIdleKeysFromDecidingOnes) {
  Settings settings;
  settings.algorithms.fast_finetune.node = yaml("{NumWorkers: 4, CacheDir: cache, UseGDS: false, EarlyStop: true}");
  const FinetuneSettings made = read_finetune_settings(settings).value();
  ASSERT_EQ(made.without_effect.size(), 1u);
  EXPECT_STREQ(made.without_effect[0].key, "NumWorkers");
  EXPECT_EQ(made.deciding, "{EarlyStop: true}");
}

TEST(OptionSettingsTest, FinetuneRefuses) {
  const std::pair<const char*, const char*> cases[] = {
      {"{OptimAlgorithm: sgd}", "FastFinetune.OptimAlgorithm: \"sgd\", allowed are adaround and adaquant"},
      {"{NumIterations: 0}", "FastFinetune.NumIterations: 0, at least 1 is needed"},
      {"{LRAdjust: [1]}", "FastFinetune.LRAdjust: 1 numbers, two are needed"},
      {"{Unit: net}", "FastFinetune.Unit: \"net\", allowed are layer, block and network"},
      {"{Unit: block, RefModelPath: a.onnx}", "FastFinetune.Unit: found block and RefModelPath"},
      {"{WarmStart: 2}", "FastFinetune.WarmStart: 2, allowed is 0 to 1"},
      {"{FixedSeed: -1}", "FastFinetune.FixedSeed: -1, allowed is 0 to 4294967295"},
      {"{FixedSeed: 4294967296}", "FastFinetune.FixedSeed: 4294967296, allowed is 0 to 4294967295"},
      {"{DropRatio: 1.5}", "FastFinetune.DropRatio: 1.5, allowed is 0 to 1"},
      {"{DropRatio: -0.25}", "FastFinetune.DropRatio: -0.25, allowed is 0 to 1"},
      {"{DropRatio: .nan}", "FastFinetune.DropRatio: found .nan, allowed is a finite number"},
      {"{MemOptLevel: 3}", "FastFinetune.MemOptLevel: 3, allowed are 0, 1 and 2"},
      {"{EarlyStopp: true}", "FastFinetune.EarlyStopp: unknown key, did you mean EarlyStop?"},
  };
  for (const auto& [given, message] : cases) {
    Settings settings;
    settings.algorithms.fast_finetune.node = yaml(given);
    EXPECT_NE(refusal(read_finetune_settings(settings)).find(message), std::string::npos)
        << refusal(read_finetune_settings(settings));
  }
}

TEST(OptionSettingsTest, GptqAndMatMulNBits) {
  Settings settings;
  settings.algorithms.gptq_params.node = yaml("{Bits: 4, ActOrder: true}");
  EXPECT_TRUE(read_gptq_settings(settings).value().by_importance);
  settings.algorithms.gptq_params.node = yaml("{GroupSize: 0}");
  EXPECT_EQ(refusal(read_gptq_settings(settings)), "GPTQParams.GroupSize: 0, allowed are -1 and numbers above 0");
  settings.matmul_nbits.matmul_nbits_params.node = yaml("{Algorithm: HQQ, GroupSize: 32}");
  EXPECT_EQ(read_matmul_nbits_settings(settings).value().algorithm, NBitsAlgorithm::kHqq);
  settings.matmul_nbits.matmul_nbits_params.node = yaml("{GroupSize: 33}");
  EXPECT_EQ(refusal(read_matmul_nbits_settings(settings)),
            "MatMulNBitsParams.GroupSize: 33 is not a block size of MatMulNBits; allowed are 16, 32, 64, 128 and 256");
  EXPECT_FALSE(read_matmul_nbits_settings(Settings()).value().has_tables);
  settings.matmul_nbits.matmul_nbits_params.node = yaml("{EmbeddingBits: 8}");
  EXPECT_EQ(read_matmul_nbits_settings(settings).value().tables.bits, 8);
  settings.matmul_nbits.matmul_nbits_params.node = yaml("{EmbeddingBits: 5}");
  EXPECT_EQ(refusal(read_matmul_nbits_settings(settings)),
            "MatMulNBitsParams.EmbeddingBits: 5, allowed are 0 (tables stay as they are), 4 and 8");
  settings.matmul_nbits.matmul_nbits_params.node = yaml("{Bits: 8}");
  EXPECT_EQ(read_matmul_nbits_settings(settings).value().head, (NBitsFormat{8, 128, true}));
  settings.compat = true;
  EXPECT_EQ(refusal(read_matmul_nbits_settings(settings)),
            "MatMulNBitsParams.Bits: 8; only 4 are supported with --compat");
  settings.compat = false;
  settings.matmul_nbits.matmul_nbits_params.node = yaml("{Bits: 5}");
  EXPECT_EQ(refusal(read_matmul_nbits_settings(settings)),
            "MatMulNBitsParams.Bits: 5, allowed are 2, 3 (stored in 4), 4 and 8");
  settings.matmul_nbits.matmul_nbits_params.node =
      yaml("{HeadBits: 8, HeadGroupSize: 32, EmbeddingBits: 4, EmbeddingGroupSize: 16}");
  EXPECT_EQ(read_matmul_nbits_settings(settings).value().head, (NBitsFormat{8, 32, true}));
  EXPECT_EQ(read_matmul_nbits_settings(settings).value().tables, (NBitsFormat{4, 16, true}));
  settings.matmul_nbits.matmul_nbits_params.node = yaml("{Bits: null}");
  EXPECT_NE(refusal(read_matmul_nbits_settings(settings)).find("MatMulNBitsParams.Bits: found nothing"),
            std::string::npos);
}

TEST(OptionSettingsTest, MixedPrecisionNeedsATarget) {
  Settings settings;
  settings.algorithms.auto_mixprecision.node = yaml("{DataSize: many}");
  EXPECT_FALSE(read_mixed_settings(settings).value().has_value());
  settings.algorithms.auto_mixprecision.node = yaml("{TargetLayerConfig: {weight: Int16Spec}, MetricThreshold: null}");
  const std::optional<MixedSettings> made = read_mixed_settings(settings).value();
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->target_layers.size(), 1u);
  EXPECT_FALSE(made->threshold.has_value());
  settings.algorithms.auto_mixprecision.node = yaml("{TargetLayerConfig: [], MetricDefault: l3}");
  EXPECT_EQ(refusal(read_mixed_settings(settings)),
            "AutoMixprecision.MetricDefault: found l3, allowed is l2 or kl or cosine or sqnr or psnr");
  settings.algorithms.auto_mixprecision.node = yaml("{TargetLayerConfig: [], MetricDistanceFn: a}");
  EXPECT_EQ(refusal(read_mixed_settings(settings)),
            "AutoMixprecision.MetricDistanceFn: a function of the caller's has no counterpart here, allowed is "
            "MetricDefault; quarkq tune --metric-cmd judges whole models");
  settings.algorithms.auto_mixprecision.node = yaml("{TargetLayerConfig: [], SubgraphJson: a.json}");
  EXPECT_EQ(read_mixed_settings(settings).value()->subgraph_file, "a.json");
}

TEST(OptionSettingsTest, BlockAttributesAreWholeNumbersAndTexts) {
  Settings settings;
  settings.formats.bfp_attributes.node = yaml("{bit_width: 13, bfp_method: to_bfp, on: true}");
  const std::vector<BlockAttribute> made = read_block_attributes(DataType::kBfp, settings).value();
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(std::get<int64_t>(made[2].value), 1);
  EXPECT_TRUE(read_block_attributes(DataType::kMx, settings).value().empty());
  settings.formats.mx_attributes.node = yaml("{axis: 1.5}");
  EXPECT_EQ(refusal(read_block_attributes(DataType::kMx, settings)),
            "MXAttributes.axis: found 1.5, allowed is a whole number or a text");
}

TEST(OptionSettingsTest, OptionsOfOpTypes) {
  Settings settings;
  settings.qdq.remove_qdq_mul_add = true;
  settings.qdq.remove_qdq_between_ops.node = yaml("[[Conv, Relu]]");
  EXPECT_EQ(read_pairs_to_remove(settings).value()[1].lower, "Relu");
  settings.qdq.remove_qdq_between_ops.node = yaml("[[Conv]]");
  EXPECT_NE(refusal(read_pairs_to_remove(settings)).find("RemoveQDQBetweenOps: each item is a pair of op types"),
            std::string::npos);
  settings.qdq.qdq_op_type_per_channel_support_to_axis.node = yaml("{MatMul: 1, Gemm: x}");
  EXPECT_EQ(channel_axis_of(settings, "MatMul"), 1);
  EXPECT_FALSE(channel_axis_of(settings, "Gemm").has_value());
}

TEST(OptionSettingsTest, RandomDataByInput) {
  Settings settings;
  settings.ranges.random_data_reader_input_shape.node = yaml("{x: [1, 3]}");
  settings.ranges.random_data_reader_input_data_range = MapValue{yaml("{x: [0, 2.5]}")};
  const RandomDataSettings made = read_random_data_settings(settings).value();
  EXPECT_EQ(made.shapes.at("x"), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(made.ranges.at("x").second, 2.5);
  settings.ranges.random_data_reader_input_data_range = MapValue{yaml("{x: [0]}")};
  EXPECT_EQ(refusal(read_random_data_settings(settings)), "RandomDataReaderInputDataRange: x needs [low, high]");
  settings.ranges.random_data_reader_input_shape.node = yaml("{x: [a]}");
  EXPECT_EQ(refusal(read_random_data_settings(settings)),
            "RandomDataReaderInputShape: \"a\" found, an integer is needed");
}

TEST(OptionSettingsTest, RandomShapesAreListsOfIntegers) {
  const std::pair<const char*, const char*> cases[] = {
      {"{x: [1, 2.5]}", "RandomDataReaderInputShape: 2.5 found, an integer is needed"},
      {"{x: [1e300]}", "RandomDataReaderInputShape: 1e+300 found, an integer is needed"},
      {"{x: [true]}", "RandomDataReaderInputShape: true found, an integer is needed"},
      {"{x: 3}", "RandomDataReaderInputShape: x needs a list of integers, 3 found"},
  };
  for (const auto& [given, message] : cases) {
    Settings settings;
    settings.ranges.random_data_reader_input_shape.node = yaml(given);
    EXPECT_EQ(refusal(read_random_data_settings(settings)), message) << given;
  }
  Settings settings;
  settings.ranges.random_data_reader_input_shape.node = yaml("{x: [-1, 9007199254740993]}");
  EXPECT_EQ(read_random_data_settings(settings).value().shapes.at("x"), (std::vector<int64_t>{-1, 9007199254740993}));
}

TEST(OptionSettingsTest, SimplifierTakesWhatItKnows) {
  Settings settings;
  settings.preprocessing.simplify_model_options.node =
      yaml("{skip_optimizations: [shape, 5], size_threshold: x, other: 1}");
  const SimplifySettings made = read_simplify_settings(settings);
  EXPECT_FALSE(made.runs("shape"));
  EXPECT_TRUE(made.runs("5"));
  EXPECT_FALSE(made.size_threshold.has_value());
}

}  // namespace
}  // namespace quarkq::config
