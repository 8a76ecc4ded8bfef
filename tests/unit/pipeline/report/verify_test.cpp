// SPDX-License-Identifier: MIT
// Requirements, and what is said about tensors that lost their signal.
#include "pipeline/report/verify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compare/tensors.h"
#include "pipeline/report/verdict.h"
#include "pipeline/run/quantize_run.h"

namespace quarkq::pipeline {
namespace {

constexpr double kExact = std::numeric_limits<double>::infinity();

TEST(RequiredCosineTest, TheStrictestCounts) {
  EXPECT_FALSE(required_cosine({}).value().has_value());
  EXPECT_EQ(required_cosine({"cos>=0.9", "cos>=0.99", "cos>=0.5"}).value(), 0.99);
}

TEST(RequiredCosineTest, RefusesOthers) {
  for (const char* text : {"cos", "cos>=", "cos>=2", "cos>=0.9x", "cos>0.9", "sqnr>=10", "", "cos>=nan"}) {
    const auto found = required_cosine({text});
    ASSERT_FALSE(found.ok()) << text;
    EXPECT_EQ(found.status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(TensorAgreementTest, TheNoisiestComeFirst) {
  const std::vector<TensorAgreement> worst =
      compare::worst_tensors({{"a", "n", 30}, {"b", "n", 5}, {"c", "n", kExact}}, 2);
  ASSERT_EQ(worst.size(), 2u);
  EXPECT_EQ(worst[0].name, "b");
  EXPECT_EQ(worst[1].name, "a");
}

TEST(TensorAgreementTest, MaskedNoiseIsLeftOut) {
  const std::vector<TensorAgreement> tensors = {{"masked", "n", 1, 1, 30, 0, true}, {"b", "n", 5, 5, 30}};
  EXPECT_EQ(compare::worst_tensors(tensors, 2).front().name, "b");
  EXPECT_EQ(compare::find_causes(tensors, 2).front().name, "b");
  EXPECT_EQ(compare::noisiest_first(tensors).front().name, "masked");
}

/// Grade and what to do of a run whose one output has these cosines.
std::optional<Verdict> verdict_of(double mean, double worst, const char* preset = "A8W8", bool near_zero = false) {
  QuantizeReport report;
  report.samples = 100;
  report.outputs = {{"y", mean, 20, worst, "a", near_zero}};
  QuantizeRequest request;
  request.model_path = "my model.onnx";
  request.config = preset;
  request.calib_folder = "calib";
  config::Settings settings;
  settings.preset = preset;
  return judge(report, request, settings, /*collapse=*/0.9);
}

TEST(VerdictTest, GradesByMeanAndWorst) {
  EXPECT_EQ(verdict_of(0.995, 0.985)->grade, Grade::kGood);
  EXPECT_EQ(verdict_of(0.985, 0.985)->grade, Grade::kFair);
  EXPECT_EQ(verdict_of(0.995, 0.95)->grade, Grade::kFair);
  EXPECT_EQ(verdict_of(0.995, 0.8)->grade, Grade::kPoor);
  EXPECT_EQ(verdict_of(0.94, 0.91)->grade, Grade::kPoor);
  EXPECT_EQ(verdict_of(std::nan(""), std::nan(""))->grade, Grade::kPoor);
  EXPECT_FALSE(verdict_of(0, 0, "A8W8", /*near_zero=*/true).has_value());
}

TEST(VerdictTest, NamesACommand) {
  EXPECT_EQ(verdict_of(0.95, 0.92)->next, "quarkq quantize 'my model.onnx' --config A8W8_ADAQUANT --calib calib");
  EXPECT_EQ(verdict_of(0.95, 0.92, "A8W8_ADAQUANT")->next,
            "quarkq analyze 'my model.onnx' --config A8W8_ADAQUANT --calib calib --min-cos 0.98 --write better.yaml");
}

TEST(TensorAgreementTest, CausesAreDropsOnly) {
  const std::vector<TensorAgreement> tensors = {
      {"fine", "n", 25, 25, kExact}, {"drop", "n", 4, 4, 25}, {"after", "n", 3, 3, 4}, {"range", "n", 2, 30, 30}};
  const std::vector<TensorAgreement> causes = compare::find_causes(tensors, 3);
  ASSERT_EQ(causes.size(), 2u);
  EXPECT_EQ(compare::describe(causes[0]), "drop of n: from 25.0 dB to 4.0 dB, due to the operator or its weights");
  EXPECT_EQ(compare::describe(causes[1]), "range of n: from 30.0 dB to 2.0 dB, due to its quantization range");
}

}  // namespace
}  // namespace quarkq::pipeline
