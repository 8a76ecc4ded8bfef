// SPDX-License-Identifier: MIT
#include "config/search/search_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "config/quant_config.h"
#include "unit/base/temp_folder.h"

namespace quarkq::config {
namespace {

using Texts = std::vector<std::string>;

Result<SearchFile> loaded_search(const std::string& text) {
  const test::TempFolder folder;
  return load_search(folder.write("search.yaml", text));
}

std::string search_refusal(const std::string& text) {
  const Result<SearchFile> file = loaded_search(text);
  EXPECT_FALSE(file.ok());
  return file.ok() ? "" : file.status().message();
}

Texts finding_subjects(const SearchFile& file) {
  Texts found;
  for (const Diagnostic& one : file.findings.all()) found.push_back(one.subject);
  return found;
}

/// As the reference's own for XINT8, with the training left at its numbers.
constexpr const char* kPro = R"(
search_space:
  activation: [XInt8Spec]
  activation_params: {symmetric: [true], calibration_method: [MinMSE, MinMax], only_if: activation}
  weight: [XInt8Spec]
  weight_params: {quant_granularity: [Tensor], only_if: weight}
  cle_algo: [cle, null]
  cle_params: {cle_steps: [-1, 1], only_if: {cle_algo: cle}}
  algorithms: [adaround, adaquant]
  adaquant_params:
    num_iterations: {type: int, low: 3000, high: 20000, step: 3000}
    learning_rate: {type: float, low: 1.0e-6, high: 1.0e-4, log: true}
    early_stop: [true]
    only_if: {algorithms: adaquant}
  adaround_params:
    NumIterLR: [[1000, 0.1], [500, 0.01]]
    only_if: {algorithms: adaround}
  specific_layer_config: [null]
  exclude: [null]
  OptimizeModel: [true]
n_trials: 5
n_jobs: 2
search_algo: TPE
search_metric: cos
output_dir: ./output
two_stage_search: true
)";

TEST(SearchFileTest, SpecsOfOneCombinationAreSettings) {
  const SearchFile file = loaded_search(kPro).value();
  EXPECT_EQ(file.form, SearchFile::Form::kSpecs);
  EXPECT_TRUE(file.has_two_stages && !file.is_grid);
  EXPECT_EQ(file.trials, 5U);
  EXPECT_EQ(file.metric, "cosine");
  const auto first = choices_of_stage(file, /*first=*/true);
  const auto made = all_combinations(first, 100).value();
  ASSERT_EQ(made.size(), 6U);  // two methods with cle_steps -1, 1 or without cle
  EXPECT_EQ(settings_of(file.form, first, made[1]),
            (Texts{"global_config={input_tensors: {spec: XInt8Spec, symmetric: true, calibration_method: MinMSE}, "
                   "weight: {spec: XInt8Spec, quant_granularity: Tensor}}",
                   "algo_config=[{name: cle, cle_steps: 1}]", "OptimizeModel=true"}));
  EXPECT_EQ(settings_of(file.form, first, made[5])[1], "OptimizeModel=true");
  EXPECT_EQ(name_of(first, made[1]), "cle_algo=cle, calibration_method=MinMSE, cle_steps=1");
}

TEST(SearchFileTest, EveryCombinationIsReadByTheSettingsReader) {
  const SearchFile file = loaded_search(kPro).value();
  for (const Combination& made : drawn_combinations(file.choices, 200)) {
    const auto config = load_config("", settings_of(file.form, file.choices, made));
    ASSERT_TRUE(config.ok()) << config.status().message();
    EXPECT_TRUE(config.value().global_config.has_value());
  }
}

TEST(SearchFileTest, RangesAreDrawnWithinTheirEndsAndSteps) {
  const SearchFile file = loaded_search(kPro).value();
  const auto second = choices_of_stage(file, /*first=*/false);
  std::set<std::string> algorithms;
  const auto all = drawn_combinations(second, 100);
  EXPECT_EQ(drawn_combinations(second, 100).size(), all.size());
  for (const Combination& made : all) {
    for (const Chosen& one : made) {
      const SearchChoice& choice = second[one.choice];
      if (choice.key == "algorithms") algorithms.insert(one.value.as_text());
      if (choice.key == "num_iterations") {
        EXPECT_TRUE(one.value.as_int() % 3000 == 0 && one.value.as_int() <= 18000) << one.value.as_int();
      }
      if (choice.key == "learning_rate") {
        EXPECT_TRUE(one.value.as_real() >= 1e-6 && one.value.as_real() <= 1e-4) << one.value.as_real();
      }
    }
  }
  EXPECT_EQ(algorithms.size(), 2U);
}

TEST(SearchFileTest, WhatHasNoCounterpartIsNamed) {
  EXPECT_EQ(finding_subjects(loaded_search(kPro).value()), (Texts{"n_jobs", "search_algo"}));
}

TEST(SearchFileTest, GridsCannotEnumerateRealNumbers) {
  const SearchFile file = loaded_search(kPro).value();
  const auto made = all_combinations(file.choices, 100);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().message().find("adaquant_params.learning_rate: found a range of real numbers"),
            std::string::npos);
}

/// As the documentation of the reference's first search has it.
constexpr const char* kFirst = R"({"search_space": {
    "calibrate_method": ["PowerOfTwoMethod.MinMSE", "CalibrationMethod.MinMax", "CalibrationMethod.Percentile"],
    "activation_type": ["QuantType.QInt8"], "weight_type": ["QuantType.QInt8"],
    "include_cle": [false, true], "include_fast_ft": [false, true],
    "extra_options": {"ActivationSymmetric": [true], "CalibMovingAverage": [true, false], "CalibMovingAverageConstant": [0.01, 0.001],
                      "Percentile": [99.99, 99.999],
                      "FastFinetune": {"NumIterations": [100, 1000], "OptimAlgorithm": ["adaround"]}}},
  "search_metric": "L1", "search_algo": "grid_search", "search_metric_tolerance": 0.6, "search_devices": "cuda:0",
  "search_stop_condition": {"find_n_candidates": 1, "iteration_limit": 12, "time_limit": 36.0}})";

TEST(SearchFileTest, OptionsWithoutEffectAreLeftOutOfCombinations) {
  const SearchFile file = loaded_search(kFirst).value();
  EXPECT_EQ(file.form, SearchFile::Form::kFields);
  const auto made = all_combinations(file.choices, 1000).value();
  // MinMSE 1, MinMax 2 constants + 1 without average, Percentile 2; with and without cle; without training, and two of
  // it
  EXPECT_EQ(made.size(), (1U + 3U + 2U) * 2U * 3U);
  for (const Combination& one : made) {
    const Texts settings = settings_of(file.form, file.choices, one);
    const bool trains = std::ranges::count(settings, "include_fast_ft=true") == 1;
    const bool has_training =
        std::ranges::any_of(settings, [](const auto& text) { return text.starts_with("FastFinetune="); });
    EXPECT_EQ(trains, has_training);
    EXPECT_TRUE(load_config("", settings).ok());
  }
}

TEST(SearchFileTest, LimitsOfTheFirstSearchAreTaken) {
  const SearchFile file = loaded_search(kFirst).value();
  EXPECT_EQ(file.trials, 12U);
  EXPECT_EQ(file.seconds, 36.0);
  EXPECT_TRUE(file.is_grid);
  EXPECT_EQ(file.metric, "l2");
  EXPECT_EQ(finding_subjects(file), (Texts{"search_metric_tolerance", "search_devices", "find_n_candidates", "search_metric"}));
}

TEST(SearchFileTest, RefusalsNameTheKeyAndWhatIsAllowed) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"[1]", "allowed is a map with search_space"},
      {"n_trials: 3", "needs search_space"},
      {"search_space: {activation: [Int8Spec]}", "needs weight"},
      {"search_space: {calibrate_methode: [MinMax]}", "calibrate_method"},
      {"search_space: {include_cle: true}", "allowed is a list of values"},
      {"search_space: {include_cle: []}", "allowed is a list of values"},
      {"search_space: {include_cle: [true]}\nsearch_algo: Best", "search_algo: found Best"},
      {"search_space: {include_cle: [true]}\nsearch_metric: top1", "search_metric: found top1"},
      {"search_space: {include_cle: [true]}\nn_trails: 3", "n_trails"},
      {"search_space: {activation: [Int8Spec], weight: [Int8Spec], weight_params: {symetric: [true]}}", "symmetric"},
      {"search_space: {activation: [Int8Spec], weight: [Int8Spec]}\nbase_framework: torch", "allowed is onnx"},
      {"search_space: {include_cle: {type: int, low: 3, high: 1}}", "low <= high"},
      {"search_space: {include_cle: {type: int, low: 0, high: 1e300}}", "allowed is a step"},
      {"search_space: {include_cle: {type: float, low: 0, high: 1, log: true}}", "low above 0 with log"},
      {"search_space: {include_cle: {type: text, low: 0, high: 1}}", "allowed is int or float"},
      {"search_space: {include_cle: {type: int, low: 0}}", "needs high"},
  };
  for (const auto& [text, words] : cases) {
    const std::string said = search_refusal(text);
    EXPECT_NE(said.find(words), std::string::npos) << text << "\n" << said;
    EXPECT_NE(said.find("search.yaml"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace quarkq::config
