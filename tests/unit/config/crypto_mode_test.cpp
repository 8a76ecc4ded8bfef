// SPDX-License-Identifier: MIT
// crypto_mode: what writes files is refused; the request is recognized before it is resolved.
#include "config/named_files.h"

#include "config/algorithms.h"
#include "unit/config/config_support.h"

namespace quarkq::config {
namespace {

const std::string kCrypto = "preset: XINT8\nquant_config: {crypto_mode: true}\n";

TEST(CryptoModeTest, RefusesWhatWritesFiles) {
  const struct {
    const char *options, *named;
  } rows[] = {
      {"SaveTensorHistFig: true", "SaveTensorHistFig"},
      {"SaveAndRestore: r.json", "SaveAndRestore"},
      {"TensorsRangeFile: r.json", "SaveAndRestore"},
      {"FastFinetune: {CacheDir: d}", "FastFinetune.CacheDir"},
      {"AutoMixprecision: {SensitivityCacheFile: s.json}", "AutoMixprecision.SensitivityCacheFile"},
      {"ShapeShifterYaml: '{\"passes\": {\"a\": {}}, \"preprocessed_model_path\": \"p\"}'", "preprocessed_model_path"}};
  for (const auto& row : rows) {
    const std::string options = cat("extra_options: {", row.options, "}");
    EXPECT_TRUE(refusal_of(kCrypto + options).starts_with(cat(row.named, ": found together with crypto_mode true")))
        << refusal_of(kCrypto + options);
    settings_of("preset: XINT8\n" + options);
  }
}

TEST(CryptoModeTest, FinetuningStaysInMemory) {
  Diagnostics diagnostics;
  const auto settings = resolve_text(
      "preset: XINT8_ADAROUND\nquant_config: {crypto_mode: true}\nextra_options: {FastFinetune: {MemOptLevel: 2}}",
      diagnostics);
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(subjects(diagnostics, "crypto-mode"), std::vector<std::string>{"FastFinetune"});
  EXPECT_TRUE(read_finetune_settings(settings.value()).value().stays_in_memory);
  EXPECT_FALSE(read_finetune_settings(settings_of("preset: XINT8_ADAROUND")).value().stays_in_memory);
}

TEST(CryptoModeTest, TheRequestIsSeenBeforeItIsResolved) {
  EXPECT_TRUE(asks_crypto(config_from(kCrypto).value()));
  EXPECT_FALSE(asks_crypto(config_from("preset: XINT8").value()));
  EXPECT_FALSE(asks_crypto(config_from("preset: XINT8\nquant_config: {crypto_mode: false}").value()));
  EXPECT_TRUE(asks_crypto(
      config_from("global_config: {input_tensors: Int8Spec, weight: Int8Spec}\nextra_options: {CryptoMode: true}")
          .value()));
}

TEST(EvaluationSettingsTest, TheReaderIsAPath) {
  EXPECT_EQ(evaluation_folder(settings_of("preset: XINT8")).value(), "");
  EXPECT_EQ(evaluation_folder(settings_of("preset: XINT8\nevaluation: {dir: a}")).value(), "a");
  EXPECT_EQ(
      evaluation_folder(settings_of("preset: XINT8\nevaluation: {dir: a}\nextra_options: {EvalDataReader: b}")).value(),
      "b");
  EXPECT_TRUE(settings_of("preset: XINT8\nevaluation: {dir: a}").evaluation.eval_metrics);
  const auto wrong = evaluation_folder(settings_of("preset: XINT8\nextra_options: {EvalDataReader: [a]}"));
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.status().message().find("EvalDataReader: found a list"), std::string::npos);
}

}  // namespace
}  // namespace quarkq::config
