// SPDX-License-Identifier: MIT
// What every setting does to the resolved ones: for each preset what differs from no preset, and for each row of
// fields.def what changes when it is set. Both are text in tests/golden/settings/: a change of a default or of a
// dependency shows there.
#include <map>

#include "config/fields.h"
#include "config/layers.h"
#include "config/preset.h"
#include "config/print.h"
#include "config_support.h"
#include "support/golden_text.h"

namespace quarkq::config {
namespace {

std::map<std::string, std::string> lines_of(const Settings& settings) {
  std::map<std::string, std::string> lines;
  for (const SettingLine& line : setting_lines(settings))
    lines[line.name] = cat(to_flow(line.value), "  (", origin_name(line.origin), ")");
  return lines;
}

Result<Settings> resolved(const std::string& preset, const std::vector<std::string>& sets) {
  QQ_TRY(const QuantConfig config, load_config(preset, sets));
  Diagnostics ignored;
  return resolve(config, {}, ignored);
}

/// The lines that differ from `base`.
std::string difference(const std::map<std::string, std::string>& base, const Result<Settings>& settings) {
  if (!settings.ok()) return "  refused\n";
  std::string text;
  for (const auto& [name, line] : lines_of(settings.value())) {
    const auto before = base.find(name);
    if (before == base.end() || before->second != line) text += cat("  ", name, ": ", line, "\n");
  }
  return text;
}

TEST(ResolvedSettingsTest, OfEveryPreset) {
  const std::map<std::string, std::string> plain = lines_of(settings_of("quant_config: {}"));
  std::string text;
  for (const PresetInfo& preset : presets()) {
    const Result<Settings> settings = resolved(preset.name, {});
    ASSERT_TRUE(settings.ok()) << preset.name << ": " << settings.status().message();
    text += cat(preset.name, "\n", difference(plain, settings));
  }
  test::expect_golden("settings/presets.txt", text);
}

/// Values of a type to set; the ones that the default already has change the origin only.
std::vector<std::string> values_of_type(const std::string& type) {
  if (type.starts_with("bool")) return {"true", "false"};
  if (type.starts_with("integer")) return {"1", "7"};
  if (type.starts_with("number")) return {"0.5"};
  return {};
}

TEST(ResolvedSettingsTest, OfEverySingleOption) {
  for (const char* preset : {"A8W8", "XINT8", "BF16"}) {
    const Result<Settings> base = resolved(preset, {});
    ASSERT_TRUE(base.ok());
    const std::map<std::string, std::string> lines = lines_of(base.value());
    std::string text;
    for (const Field& field : all_fields()) {
      if (field.is_of_block()) continue;  // decides no other setting (FieldsTest)
      for (const std::string& value : values_of_type(field.type)) {
        const std::string set = cat(field.name, "=", value);
        text += cat(set, "\n", difference(lines, resolved(preset, {set})));
      }
    }
    test::expect_golden(cat("settings/options_on_", preset, ".txt"), text);
  }
}

/// Settings that decide others.
const std::vector<std::vector<std::string>> kTogether = {
    {"activation_type=QuantType.QUInt8"},
    {"activation_type=QuantType.QInt16"},
    {"activation_type=QuantType.QUInt16", "weight_type=QuantType.QInt8"},
    {"weight_type=QuantType.QUInt8"},
    {"weight_type=QuantType.QInt16"},
    {"weight_type=ExtendedQuantType.QInt4"},
    {"activation_type=ExtendedQuantType.QBFloat16", "quant_format=ExtendedQuantFormat.QDQ"},
    {"activation_type=ExtendedQuantType.QFloat16", "quant_format=ExtendedQuantFormat.QDQ"},
    {"activation_type=ExtendedQuantType.QBFP", "weight_type=ExtendedQuantType.QBFP",
     "quant_format=ExtendedQuantFormat.QDQ"},
    {"activation_type=ExtendedQuantType.QMX", "weight_type=ExtendedQuantType.QMX",
     "quant_format=ExtendedQuantFormat.QDQ"},
    {"calibrate_method=CalibrationMethod.MinMax"},
    {"calibrate_method=CalibrationMethod.Percentile"},
    {"calibrate_method=CalibrationMethod.Entropy"},
    {"calibrate_method=CalibrationMethod.Distribution"},
    {"calibrate_method=LayerWiseMethod.LayerWisePercentile"},
    {"calibrate_method=PowerOfTwoMethod.NonOverflow"},
    {"calibrate_method=PowerOfTwoMethod.MinMSE"},
    {"calibrate_method=PowerOfTwoMethod.MinMSE", "UsePowerOf2Scale=false"},
    {"enable_npu_cnn=true"},
    {"enable_npu_cnn=true", "calibrate_method=PowerOfTwoMethod.MinMSE"},
    {"enable_npu_transformer=true"},
    {"use_dynamic_quant=true"},
    {"UseMatMulNBits=true"},
    {"per_channel=true", "reduce_range=true"},
    {"include_cle=true", "ReplaceClip6Relu=true"},
    {"include_sq=true"},
    {"UseGPTQ=true"},
    {"include_auto_mp=true"},
    {"include_fast_ft=true"},
    {"include_rotation=true"},
    {"Int16Scale=true"},
    {"Int16Bias=true"},
    {"Int32Bias=false"},
    {"QuantizeBias=false"},
    {"AddQDQPairToWeight=true"},
    {"DedicatedQDQPair=true"},
    {"ActivationSymmetric=true", "WeightSymmetric=false"},
    {"quarkq.compat=quark-0.13"},
    {"quarkq.guards=off"},
    {"SkipPreprocess=true"},
    {"SimplifyModel=false"},
    {"OptimizeModel=false"},
};

TEST(ResolvedSettingsTest, OfSettingsThatDecideOthers) {
  for (const char* preset : {"A8W8", "XINT8"}) {
    const Result<Settings> base = resolved(preset, {});
    ASSERT_TRUE(base.ok());
    std::string text;
    for (const std::vector<std::string>& sets : kTogether)
      text += cat(join(sets, " "), "\n", difference(lines_of(base.value()), resolved(preset, sets)));
    test::expect_golden(cat("settings/together_on_", preset, ".txt"), text);
  }
}

/// Settings printed as a file give the same settings when read.
TEST(ResolvedSettingsTest, WrittenOutTheyResolveTheSame) {
  for (const PresetInfo& preset : presets()) {
    const Result<QuantConfig> config = load_config(preset.name, {});
    ASSERT_TRUE(config.ok());
    Diagnostics ignored;
    const Result<Settings> direct = resolve(config.value(), {}, ignored);
    const Result<Settings> written = resolve_text(to_yaml(config.value()));
    ASSERT_TRUE(direct.ok() && written.ok()) << preset.name << ": " << written.status().message();
    const auto a = setting_lines(direct.value()), b = setting_lines(written.value());
    std::map<std::string, Node> values;
    for (const SettingLine& line : b) values.emplace(line.name, line.value);
    for (const SettingLine& line : a) {
      if (line.name == "preset") continue;
      ASSERT_TRUE(values.contains(line.name)) << line.name;
      EXPECT_EQ(line.value, values.at(line.name)) << preset.name << " " << line.name;
    }
  }
}

TEST(ResolvedSettingsTest, SettingAValueToItselfChangesItsOriginOnly) {
  const Settings base = resolved("A8W8", {}).value();
  for (const Field& field : all_fields()) {
    if (!field.type.starts_with("bool") && !field.type.starts_with("integer")) continue;
    const Node value = field.value(base);
    if (value.is_null() || field.support == Support::kNotYet) continue;
    const Result<Settings> again = resolved("A8W8", {cat(field.name, "=", to_flow(value))});
    if (!again.ok()) {
      ADD_FAILURE() << field.name << ": its own value is refused: " << again.status().message();
      continue;
    }
    EXPECT_EQ(field.value(again.value()), value) << field.name;
  }
}

Merged merged_of(const std::vector<std::pair<Origin, std::string>>& layers) {
  Merged merged;
  for (const auto& [origin, yaml] : layers) {
    const Status status = lay_over({parse_text(yaml, "t.yaml").value(), origin}, merged);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return merged;
}

/// Two values of one setting: the origin decides, not the place in the list.
TEST(ResolvedSettingsTest, PrecedenceIsTheOrderOfOrigins) {
  std::vector<Layer> layers = {{literal("{quant_config: {}}"), Origin::kFile}};
  for (const Origin origin :
       {Origin::kRescue, Origin::kSet, Origin::kFlag, Origin::kFile, Origin::kTarget, Origin::kPreset}) {
    layers.push_back({parse_set(cat("quarkq.seed=", static_cast<int>(origin))).value(), origin});
  }
  while (layers.size() > 1) {
    const Result<QuantConfig> config = read_config(layers);
    ASSERT_TRUE(config.ok()) << config.status().message();
    EXPECT_EQ(config.value().tool.seed, static_cast<int>(layers[1].origin));
    EXPECT_EQ(config.value().origin_of("quarkq.seed"), layers[1].origin);
    layers.erase(layers.begin() + 1);
  }
}

TEST(ResolvedSettingsTest, BlocksKeepTheOriginOfEachKey) {
  const Result<Settings> settings = resolved("", {"legalize.batch=2", "exclude=[a]", "--preprocess=imagenet",
                                                  "--shape={x: [1]}", "--target=x2", "preprocess.crop=64"});
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  const std::map<std::string, std::string> lines = lines_of(settings.value());
  for (const auto& [name, line] : std::map<std::string, std::string>{{"target", "x2  (flag)"},
                                                                     {"exclude", "[a]  (--set)"},
                                                                     {"legalize.batch", "2  (--set)"},
                                                                     {"legalize.shapes", "{x: [1]}  (flag)"},
                                                                     {"legalize.opset", "17  (target)"},
                                                                     {"preprocess.recipe", "imagenet  (flag)"},
                                                                     {"preprocess.crop", "64  (--set)"}})
    EXPECT_EQ(lines.contains(name) ? lines.at(name) : "missing", line) << name;
}

TEST(ResolvedSettingsTest, LayersAreLaidOverEachOther) {
  struct Row {
    const char *below, *above, *result;
  };
  const Row rows[] = {
      {"extra_options: {A: 1}", "extra_options: {B: 2}", "extra_options: {A: 1, B: 2}"},
      {"extra_options: {A: 1}", "extra_options: {A: 2}", "extra_options: {A: 2}"},
      {"extra_options: {A: 1, B: 2}", "extra_options: {A: null}", "extra_options: {B: 2}"},
      {"extra_options: {FastFinetune: {a: 1, b: 2}}", "extra_options: {FastFinetune: {b: 3, c: 4}}",
       "extra_options: {FastFinetune: {a: 1, b: 3, c: 4}}"},
      {"extra_options: {FastFinetune: {a: {x: 1}}}", "extra_options: {FastFinetune: {a: {y: 2}}}",
       "extra_options: {FastFinetune: {a: {y: 2}}}"},
      {"extra_options: {Percentile: {a: 1}}", "extra_options: {Percentile: {b: 2}}",
       "extra_options: {Percentile: {b: 2}}"},
      {"quant_config: {nodes_to_exclude: [a, b]}", "quant_config: {nodes_to_exclude: [c]}",
       "quant_config: {nodes_to_exclude: [c]}"},
      {"quant_config: {per_channel: true}", "extra_options: {A: 1}",
       "{quant_config: {per_channel: true}, extra_options: {A: 1}}"},
      {"preset: A8W8", "preset: XINT8", "preset: XINT8"},
      {"preset: A8W8", "preset: null", "{}"},
      {"extra_options: {A: 1}", "extra_options: null", "extra_options: {A: 1}"},
      {"extra_options: {FastFinetune: {a: 1}}", "extra_options: {FastFinetune: null}", "extra_options: {}"},
      {"extra_options: {FastFinetune: {a: 1}}", "extra_options: {FastFinetune: {a: null}}",
       "extra_options: {FastFinetune: {}}"},
  };
  for (const Row& row : rows) {
    const Merged merged = merged_of({{Origin::kPreset, row.below}, {Origin::kFile, row.above}});
    EXPECT_EQ(merged.values, parse_text(row.result, "t").value()) << row.below << " + " << row.above << "\n"
                                                                  << to_flow(merged.values);
  }
}

TEST(ResolvedSettingsTest, TheStrongestLayerIsTheOrigin) {
  const Merged merged =
      merged_of({{Origin::kPreset, "{quant_config: {per_channel: true, reduce_range: true}, extra_options: {A: 1}}"},
                 {Origin::kFile, "{quant_config: {per_channel: false}, calibration: {seed: 3}}"},
                 {Origin::kSet, "extra_options: {A: null}"}});
  EXPECT_EQ(merged.origins.at("per_channel"), Origin::kFile);
  EXPECT_EQ(merged.origins.at("reduce_range"), Origin::kPreset);
  EXPECT_EQ(merged.origins.at("calibration.seed"), Origin::kFile);
  EXPECT_FALSE(merged.origins.contains("A"));
}

TEST(ResolvedSettingsTest, SetsAreDottedPathsAndBareNames) {
  struct Row {
    const char *set, *tree;
  };
  const Row rows[] = {
      {"per_channel=true", "quant_config: {per_channel: true}"},
      {"Percentile=99.9", "extra_options: {Percentile: 99.9}"},
      {"extra_options.Percentile=99.9", "extra_options: {Percentile: 99.9}"},
      {"FastFinetune.NumIterations=10", "extra_options: {FastFinetune: {NumIterations: 10}}"},
      {"calibration.seed=3", "calibration: {seed: 3}"},
      {"quarkq.compat=quark-0.13", "quarkq: {compat: quark-0.13}"},
      {"nodes_to_exclude=[a, b]", "quant_config: {nodes_to_exclude: [a, b]}"},
      {"nodes_to_exclude=", "quant_config: {nodes_to_exclude: null}"},
      {"Percentile=a=b", "extra_options: {Percentile: \"a=b\"}"},
  };
  for (const Row& row : rows) {
    const Result<Node> tree = parse_set(row.set);
    ASSERT_TRUE(tree.ok()) << tree.status().message();
    EXPECT_EQ(tree.value(), parse_text(row.tree, "t").value()) << row.set << " " << to_flow(tree.value());
  }
  for (const char* bad : {"", "=", "=1", "per_channel", "per_chanel=true", "Percentile=[", "nothing.like=1"})
    EXPECT_FALSE(parse_set(bad).ok()) << bad;
}

}  // namespace
}  // namespace quarkq::config
