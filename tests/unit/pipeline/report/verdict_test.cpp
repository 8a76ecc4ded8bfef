// SPDX-License-Identifier: MIT
// The one thing that a verdict advises: a command that runs as it is printed, for each kind of run.
#include "pipeline/report/verdict.h"

#include <gtest/gtest.h>

#include <limits>

namespace quarkq::pipeline {
namespace {

struct AdvisedRun {
  QuantizeReport report;
  QuantizeRequest request;
  config::Settings settings;

  AdvisedRun() {
    report.samples = 100;
    report.output_path = "out.onnx";
    request.model_path = "m.onnx";
    request.config = "A8W8";
    request.calib_folder = "calib";
    settings.preset = "A8W8";
    outputs({{0.96, 0.92}});
  }
  /// Mean and worst cosine of each output.
  void outputs(const std::vector<std::pair<double, double>>& cosines) {
    report.outputs.clear();
    for (const auto& [mean, worst] : cosines) {
      OutputAgreement output;
      output.cosine = mean;
      output.min_cosine = worst;
      report.outputs.push_back(output);
    }
  }
  Verdict verdict(double collapse = 0.9) const { return judge(report, request, settings, collapse).value(); }
  std::string next() const { return verdict().next; }
};

TEST(VerdictAdviceTest, GoodResultsAreCheckedWhereTheyWillRun) {
  AdvisedRun run;
  run.outputs({{1, 1}});
  EXPECT_EQ(run.next(), "quarkq evaluate --float m.onnx --quantized out.onnx --data VALIDATION --labels FILE");
  run.request.calib_folder.clear();
  EXPECT_EQ(run.next(), "quarkq evaluate --float m.onnx --quantized out.onnx --data VALIDATION --labels FILE");
  run.settings.quantizer = config::Quantizer::kNpuCnn;
  run.report.output_path = "a b.onnx";
  EXPECT_EQ(run.next(), "quarkq check 'a b.onnx'");
}

TEST(VerdictAdviceTest, ArgumentsCanBePastedIntoAShell) {
  AdvisedRun run;
  run.report.causes.emplace_back();
  const std::pair<const char*, const char*> cases[] = {{"dir/m-1.onnx", "dir/m-1.onnx"},
                                                       {"it's.onnx", "'it'\\''s.onnx'"},
                                                       {"a$b.onnx", "'a$b.onnx'"},
                                                       {"a;b.onnx", "'a;b.onnx'"},
                                                       {"m\xc3\xa4rz.onnx", "'m\xc3\xa4rz.onnx'"}};
  for (const auto& [path, quoted] : cases) {
    run.request.model_path = path;
    EXPECT_EQ(run.next(),
              cat("quarkq analyze ", quoted, " --config A8W8 --calib calib --min-cos 0.98 --write better.yaml"));
  }
}

TEST(VerdictAdviceTest, TheCommandHasTheSettingsOfTheRun) {
  AdvisedRun run;
  run.request.settings = {"Percentile=99", "quarkq.on_collapse=warn", "quarkq.verify_samples=3",
                          "nodes_to_exclude=[a b]"};
  run.request.requantize = true;
  EXPECT_EQ(run.next(),
            "quarkq quantize m.onnx --config A8W8_ADAQUANT --requantize --calib calib --set Percentile=99 --set "
            "'nodes_to_exclude=[a b]'");
}

TEST(VerdictAdviceTest, WhatTheTargetRefusesIsPoorAndNextCuresIt) {
  using Holds = Deployability::Holds;
  AdvisedRun run;
  run.outputs({{1, 1}});
  run.report.deployable = {"x1", Holds::kNo, "a float operator", "cut-tail", 0, 9, 0};
  EXPECT_EQ(run.verdict().grade, Grade::kPoor);
  EXPECT_EQ(run.verdict().why,
            "not deployable on x1: a float operator (its outputs are good: mean cosine 1.0000, worst 1.0000)");
  EXPECT_EQ(run.next(), "quarkq quantize m.onnx --config A8W8 --calib calib --set legalize.tail=cut");
  run.request.settings = {"legalize.tail=cut"};
  EXPECT_NE(run.next().find("(quarkq check --target x1 out.onnx)"), std::string::npos) << run.next();
  run.report.deployable->remedy = "power-of-two-scales";
  EXPECT_EQ(run.next(), "quarkq quantize m.onnx --config XINT8 --calib calib --set legalize.tail=cut");
  run.report.outputs.clear();
  EXPECT_EQ(run.verdict().why, "not deployable on x1: a float operator");
  for (const Holds holds : {Holds::kYes, Holds::kUnknown}) {
    run.outputs({{1, 1}});
    run.report.deployable->holds = holds;
    EXPECT_EQ(run.verdict().grade, Grade::kGood);
  }
}

TEST(VerdictAdviceTest, TheTargetChoosesThePresetWhereNoneWasGiven) {
  AdvisedRun run;
  run.request.config.clear();
  run.request.settings = {"target=x2"};
  run.settings.preset = "XINT8_ADAQUANT";
  EXPECT_EQ(run.next(), "quarkq analyze m.onnx --calib calib --target x2 --min-cos 0.98 --write better.yaml");
  run.request.settings = {"target=\"my target.yaml\"", "preprocess=tf", "preprocess={crop: 8}"};
  EXPECT_EQ(run.next(),
            "quarkq analyze m.onnx --calib calib --target 'my target.yaml' --preprocess tf --set "
            "'preprocess={crop: 8}' --min-cos 0.98 --write better.yaml");
}

TEST(VerdictAdviceTest, RunsFromStatisticsNeedSamplesNow) {
  AdvisedRun run;
  run.request.calib_folder.clear();
  run.request.statistics_path = "s.stats";
  EXPECT_EQ(run.next(), "quarkq quantize m.onnx --config A8W8_ADAQUANT --calib DIR");
  run.settings.calibration.dir = "calib";  // the settings name them, and the command has the settings
  EXPECT_EQ(run.next(), "quarkq quantize m.onnx --config A8W8_ADAQUANT");
}

TEST(VerdictAdviceTest, DataComesFirstThenTrainingThenAnalysis) {
  AdvisedRun run;
  EXPECT_EQ(run.next(), "quarkq quantize m.onnx --config A8W8_ADAQUANT --calib calib");
  run.report.tuned_layers.emplace_back();
  const std::string analysis = "quarkq analyze m.onnx --config A8W8 --calib calib --min-cos 0.98 --write better.yaml";
  EXPECT_EQ(run.next(), analysis);
  run.report.tuned_layers.clear();
  run.report.causes.emplace_back();
  EXPECT_EQ(run.next(), analysis);
  run.report.causes.clear();
  run.settings.preset.clear();  // a file of settings has no trained twin
  EXPECT_EQ(run.next(), analysis);
  run.report.samples = 31;
  run.report.causes.emplace_back();
  EXPECT_EQ(run.next(), analysis);
  run.report.causes.clear();
  run.settings.preset = "A8W8";
  EXPECT_EQ(run.next(), analysis) << "too few samples to train with";
  run.report.samples = 7;
  EXPECT_EQ(run.next(), "calibrate with more samples (7 now; 100 or more are usual)");
  run.settings.ranges.use_random_data = true;
  EXPECT_EQ(run.next(), "calibrate with more samples (7 now; 100 or more are usual)");
  run.request.calib_folder.clear();
  EXPECT_EQ(run.next(), "calibrate with real samples: --calib DIR");
}

TEST(VerdictAdviceTest, TheTaskOfAnOutputCountsInPlaceOfItsCosines) {
  AdvisedRun run;
  run.outputs({{0.92, 0.82}});
  const auto has_task = [&](Grade grade, const char* text) {
    run.report.outputs[0].task = TaskAgreement{"rows", 0.5, grade, text};
  };
  has_task(Grade::kGood, "the same class in 100 %");
  EXPECT_EQ(run.verdict().grade, Grade::kGood);
  EXPECT_EQ(run.verdict().why, "the same class in 100 %");
  run.settings.tool.min_cosine = 0.9;
  EXPECT_EQ(run.verdict().why, "worst cosine 0.8200, below 0.9000") << "asked for by the user";
  run.settings.tool.min_cosine.reset();
  run.outputs({{1, 1}});
  has_task(Grade::kPoor, "the same class in 97.12 %, below 98 %");
  EXPECT_EQ(run.verdict().grade, Grade::kPoor);
  EXPECT_EQ(run.verdict().why, "the same class in 97.12 %, below 98 %");
  run.outputs({{0.92, 0.82}, {0.97, 0.96}});
  has_task(Grade::kGood, "the same class in 100 %");
  EXPECT_EQ(run.verdict().why, "mean cosine 0.9700, below 0.9900") << "of the other output";
  run.outputs({{0.89, 0.82}});
  has_task(Grade::kGood, "the same class in 100 %");
  EXPECT_EQ(run.verdict().why, "mean cosine 0.8900, below 0.9000") << "too far for any task";
}

TEST(VerdictAdviceTest, StatesCountByWhatFollowsFromThem) {
  AdvisedRun run;
  run.outputs({{0.999, 0.99}, {0.7, 0.5}});
  run.report.outputs[0].fed_back = Agreement{0.995, 20};
  EXPECT_EQ(run.verdict().grade, Grade::kGood);
  EXPECT_EQ(run.verdict().why, "mean cosine 0.9990, worst 0.9900");
  run.report.outputs[0].fed_back->cosine = 0.97;
  EXPECT_EQ(run.verdict().grade, Grade::kFair);
  run.report.outputs[0].fed_back->cosine = 0.4;
  EXPECT_EQ(run.verdict().grade, Grade::kPoor);
  EXPECT_EQ(run.verdict().why, "with states fed back over 20 frames, cosine 0.4000, below 0.9500");
}

TEST(VerdictAdviceTest, TheWorstOutputCounts) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  AdvisedRun run;
  run.outputs({{1, 1}, {0.97, 0.99}, {0.999, 0.95}});
  EXPECT_EQ(run.verdict().why, "mean cosine 0.9700, below 0.9900");
  run.outputs({{1, 1}, {0.999, 0.95}});
  EXPECT_EQ(run.verdict().why, "worst cosine 0.9500, below 0.9800");
  EXPECT_EQ(run.verdict(/*collapse=*/0.96).grade, Grade::kPoor);
  EXPECT_EQ(run.verdict(/*collapse=*/0.96).why, "worst cosine 0.9500, below 0.9600");
  run.outputs({{1, 1}, {0.999, 0.985}});
  EXPECT_EQ(run.verdict().grade, Grade::kGood);
  EXPECT_EQ(run.verdict(/*collapse=*/0.985).grade, Grade::kGood);
  run.outputs({{0.99995, 0.99991}});
  EXPECT_EQ(run.verdict().why, "mean cosine 0.999950, worst 0.999910");
  run.outputs({{kNaN, 1}, {1, 1}});
  EXPECT_EQ(run.verdict().grade, Grade::kPoor);
  run.outputs({{1, 1}});
  run.report.outputs[0].minor = Agreement{0.4, 1};
  EXPECT_EQ(run.verdict().why, "mean cosine 0.4000, below 0.9500");
}

}  // namespace
}  // namespace quarkq::pipeline
