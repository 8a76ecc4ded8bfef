// SPDX-License-Identifier: MIT
// fields.def and blocks.def as data: every row is well-formed, and every "depends" has its rule.
#include "config/fields.h"

#include <algorithm>
#include <set>

#include "config/layers.h"
#include "config/print.h"
#include "config/resolve_steps.h"
#include "config_support.h"

namespace quarkq::config {
namespace {

TEST(FieldsTest, EveryDefaultHasItsType) {
  Settings settings;
  for (const Field& field : all_fields()) {
    if (field.depends()) continue;
    EXPECT_TRUE(parse_text(field.by_default, "x").ok()) << field.name;
    EXPECT_TRUE(field.assign(literal(field.by_default), settings).ok()) << field.name;
    EXPECT_EQ(field.value(settings), literal(field.by_default)) << field.name;
  }
}

TEST(FieldsTest, EveryOffValueHasItsType) {
  for (const Field& field : all_fields()) {
    const bool needs_off = field.support == Support::kNotYet;
    EXPECT_EQ(needs_off, std::string(field.off) != "-") << field.name;
    if (!needs_off || std::string(field.off).find('|') != std::string::npos || std::string(field.off) == "absent")
      continue;
    Settings settings;
    EXPECT_TRUE(field.assign(literal(field.off), settings).ok()) << field.name;
    EXPECT_TRUE(is_off_value(field, literal(field.off))) << field.name;
  }
}

/// What a row gives out, it takes again: in a run that starts from the printed settings nothing changes.
TEST(FieldsTest, EveryValueIsTakenBack) {
  const Settings resolved = settings_of("quant_config: {}");
  for (const Field& field : all_fields()) {
    Settings again;
    const Node value = field.value(resolved);
    ASSERT_TRUE(field.assign(value, again).ok()) << field.name;
    EXPECT_EQ(field.value(again), value) << field.name;
  }
}

/// A value of another kind is refused with the name of the row and what was found.
TEST(FieldsTest, OtherKindsAreRefusedByName) {
  struct Kind {
    const char *type, *wrong, *found;
  };
  const Kind kinds[] = {{"bool", "3.5", "3.5"},          {"bool", "[true]", "a list"},
                        {"integer", "half", "half"},     {"integer", "1.5", "1.5"},
                        {"integer", "{a: 1}", "a map"},  {"number", "much", "much"},
                        {"number", ".inf", ".inf"},      {"number", "[1]", "a list"},
                        {"text", "[a]", "a list"},       {"list of texts", "{a: 1}", "a map"},
                        {"list of numbers", "[a]", "a"}, {"list", "{a: 1}", "a map"},
                        {"map", "[a]", "a list"}};
  std::set<std::string> tried;
  for (const Field& field : all_fields()) {
    if (!field.is_option()) continue;
    const std::string type = field.type.substr(0, field.type.find(" or null"));
    for (const Kind& kind : kinds) {
      if (type != kind.type) continue;
      tried.insert(type);
      const Result<QuantConfig> read =
          config_from(cat("quant_config: {}\nextra_options: {", field.name, ": ", kind.wrong, "}\n"));
      ASSERT_FALSE(read.ok()) << field.name << " takes " << kind.wrong;
      const std::string said = read.status().message();
      EXPECT_NE(said.find(field.name), std::string::npos) << said;
      EXPECT_NE(said.find(kind.found), std::string::npos) << said;
    }
  }
  EXPECT_GE(tried.size(), 5u) << "the table has the types of the rows";
}

/// A value other than the default that the row of a block accepts, as YAML.
std::string accepted_by(const Field& field) {
  if (field.name == "quarkq.backend") return "ort:cuda";
  if (field.name == "quarkq.target_size") return "800M";
  if (field.name == "calibration.raw") return "{dtype: float32, shape: [1, 3]}";
  if (field.type == "map of shapes") return "{x: [1, 3]}";
  if (field.type == "bool" || field.type == "on or off")
    return std::string(field.by_default) == "true" ? "false" : "true";
  if (*field.allowed.range != '\0') return real_text(field.allowed.low);
  std::vector<std::string> choices = split(field.allowed.choices, ' ');
  std::erase(choices, field.by_default);
  if (*field.allowed.choices == '\0') choices = {field.type == "integer" ? "7" : "a.txt"};
  return field.type == "list of texts" ? "[" + choices.front() + "]" : choices.front();
}

/// The proof that a row is all that a setting needs: it is read, kept, printed and listed under its name.
TEST(FieldsTest, EveryKeyOfABlockIsReadAndPrintedWithItsOrigin) {
  for (const Field& field : all_fields()) {
    if (!field.is_of_block()) continue;
    const std::string text = field.type == "integer" ? split(accepted_by(field), '.').front() : accepted_by(field);
    const Node value = literal(text);
    for (const Origin origin : {Origin::kTarget, Origin::kFile, Origin::kFlag, Origin::kSet, Origin::kRescue}) {
      const Layer layer{parse_set(cat(field.name, "=", text)).value(), origin};
      const Result<QuantConfig> config = read_config({{literal("{quant_config: {}}"), Origin::kFile}, layer});
      ASSERT_TRUE(config.ok()) << config.status().message();
      EXPECT_EQ(field.asked(config.value()), value) << field.name;
      EXPECT_EQ(*to_node(config.value()).find(field.block)->find(field.key()), value) << field.name;
      Diagnostics ignored;
      const std::vector<SettingLine> lines = setting_lines(resolve(config.value(), {}, ignored).value());
      const auto line = std::ranges::find(lines, field.name, &SettingLine::name);
      ASSERT_NE(line, lines.end()) << field.name;
      EXPECT_EQ(line->value, value) << field.name;
      EXPECT_EQ(line->origin, origin) << field.name;
    }
  }
}

TEST(FieldsTest, EveryKeyOfABlockRefusesOtherValuesByName) {
  for (const Field& field : all_fields()) {
    if (!field.is_of_block()) continue;
    std::vector<std::string> wrong = {"[[1]]"};
    if (*field.allowed.range != '\0') wrong.push_back(std::to_string(static_cast<int64_t>(field.allowed.low) - 1));
    if (*field.allowed.choices != '\0') wrong.emplace_back(field.type == "list of texts" ? "[other]" : "other");
    for (const std::string& value : wrong) {
      const Result<QuantConfig> read =
          config_from(cat("quant_config: {}\n", field.block, ": {", field.key(), ": ", value, "}\n"));
      ASSERT_FALSE(read.ok()) << field.name << " accepts " << value;
      const std::string& said = read.status().message();
      EXPECT_TRUE(said.starts_with("t.yaml:2: " + field.name)) << said;
      EXPECT_TRUE(value == "[[1]]" || said.find(field.allowed.text()) != std::string::npos) << said;
    }
  }
}

/// An option of the command line is another name of its row, with an origin of its own.
TEST(FieldsTest, FlagsNameTheirRows) {
  size_t count = 0;
  for (const Field& field : all_fields()) {
    if (*field.flag == '\0') continue;
    const Setting setting = setting_of(cat(field.flag, "=a=b"));
    EXPECT_EQ(setting.key, field.name);
    EXPECT_EQ(setting.value, "a=b");
    EXPECT_EQ(setting.flag, field.flag);
    EXPECT_EQ(setting.origin, Origin::kFlag);
    ++count;
  }
  EXPECT_GE(count, 8u);
  EXPECT_EQ(setting_of("--target=x2").key, "target");
  EXPECT_EQ(setting_of("--none=1").origin, Origin::kSet);
  EXPECT_FALSE(parse_set("--none=1").ok());
}

TEST(FieldsTest, NamesAreUnique) {
  std::set<std::string> names;
  for (const Field& field : all_fields()) EXPECT_TRUE(names.insert(field.name).second) << field.name;
  for (const FieldKey& key : field_keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    ASSERT_NE(find_field(key.field), nullptr) << key.name;
    EXPECT_FALSE(find_field(key.field)->is_option()) << key.name;
  }
}

TEST(FieldsTest, EveryDependentDefaultHasItsRule) {
  std::set<std::string> rules, rows;
  for (const auto& [name, rule] : dependent_rules()) EXPECT_TRUE(rules.insert(name).second) << name;
  for (const Field& field : all_fields())
    if (field.depends()) rows.insert(field.name);
  EXPECT_EQ(rules, rows);
}

TEST(FieldsTest, HoldsTheLegacyDefaults) {
  const Settings s = settings_of("quant_config: {}");
  EXPECT_EQ(s.ranges.calibrate_method, CalibrateMethod::kMinMax);
  EXPECT_EQ(s.formats.quant_format, QuantFormat::kQdq);
  EXPECT_EQ(s.formats.activation_type, DataType::kInt8);
  EXPECT_EQ(s.formats.weight_type, DataType::kInt8);
  EXPECT_EQ(s.runtime.execution_providers, std::vector<std::string>{"CPUExecutionProvider"});
  EXPECT_TRUE(s.preprocessing.optimize_model && s.algorithms.include_cle && s.evaluation.print_summary &&
              s.evaluation.ignore_warnings);
  EXPECT_FALSE(s.formats.per_channel || s.formats.reduce_range || s.runtime.use_external_data_format ||
               s.algorithms.include_fast_ft || s.npu.enable_npu_cnn);
}

TEST(EnumsTest, ReadsTheSpellings) {
  EXPECT_EQ(parse_enum<CalibrateMethod>("PowerOfTwoMethod.MinMSE").value().value, CalibrateMethod::kMinMSE);
  EXPECT_EQ(parse_enum<CalibrateMethod>("quark.onnx.CalibrationMethod.MinMax").value().value, CalibrateMethod::kMinMax);
  EXPECT_EQ(parse_enum<CalibrateMethod>("NonOverflow").value().value, CalibrateMethod::kNonOverflow);
  EXPECT_EQ(parse_enum<CalibrateMethod>("MinMax").value().value, CalibrateMethod::kMinMax);
  EXPECT_EQ(parse_enum<DataType>("QuantType.QInt16").value().value, DataType::kInt16);
  EXPECT_EQ(parse_enum<DataType>("QUInt8").value().value, DataType::kUInt8);
  EXPECT_TRUE(parse_enum<DataType>("VitisQuantType.QInt8").value().is_deprecated);
  EXPECT_FALSE(parse_enum<CalibrateMethod>("MinMSE").ok());  // for activations or for weights
  EXPECT_FALSE(parse_enum<QuantFormat>("QDQ").ok());
  EXPECT_NE(parse_enum<DataType>("QuantType.QInt88").status().message().find("did you mean QuantType.QInt8?"),
            std::string::npos);
}

TEST(EnumsTest, PrintsTheReferencesSpelling) {
  EXPECT_EQ(enum_text(DataType::kInt8), "QuantType.QInt8");
  EXPECT_EQ(enum_text(DataType::kInt16), "ExtendedQuantType.QInt16");
  EXPECT_EQ(enum_text(QuantFormat::kExtendedQdq), "ExtendedQuantFormat.QDQ");
  EXPECT_EQ(enum_text(CalibrateMethod::kLayerWisePercentile), "LayerWiseMethod.LayerWisePercentile");
}

TEST(QuirksTest, CompatModeSwitchesThem) {
  const Settings plain = settings_of("preset: XINT8");
  const Settings compat = settings_of("preset: XINT8\nquarkq: {compat: quark-0.13}");
  EXPECT_FALSE(plain.compat);
  EXPECT_TRUE(compat.compat);
  for (size_t i = 0; i < kQuirkCount; ++i) {
    EXPECT_TRUE(plain.quirk(static_cast<Quirk>(i)));
    EXPECT_FALSE(compat.quirk(static_cast<Quirk>(i)));
  }
  EXPECT_EQ(quirk_name(kQuirks[static_cast<size_t>(Quirk::kFoldGemmBeta)]), "fold_gemm_beta");
}

}  // namespace
}  // namespace quarkq::config
