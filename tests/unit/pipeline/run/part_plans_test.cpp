// SPDX-License-Identifier: MIT
// Plans with only some nodes quantized, and what the rescue of poor outputs is made of: which runs it takes, what each
// remedy changes, and what is said about it.
#include "pipeline/run/part_plans.h"

#include <cmath>
#include <limits>

#include "pipeline/rescue/describe.h"
#include "pipeline/rescue/search.h"
#include "support/legalize_samples.h"

namespace quarkq::pipeline {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

OutputAgreement output_of(double cosine, double sqnr_db, bool near_zero = false) {
  OutputAgreement made;
  made.cosine = cosine;
  made.sqnr_db = sqnr_db;
  made.near_zero = near_zero;
  return made;
}

TEST(WorstAgreementTest, IsThatOfEachFigure) {
  const auto expect = [](const std::vector<OutputAgreement>& outputs, double cosine, double sqnr_db) {
    const Result<Agreement> worst = compare::worst_agreement(outputs);
    ASSERT_TRUE(worst.ok()) << worst.status().message();
    EXPECT_EQ(worst.value().cosine, cosine);
    EXPECT_EQ(worst.value().sqnr_db, sqnr_db);
  };
  expect({output_of(0.9, 30), output_of(0.99, 10)}, 0.9, 10);
  expect({output_of(0.9, 30), output_of(-0.5, -90, /*near_zero=*/true)}, 0.9, 30);
  expect({output_of(0, 0, /*near_zero=*/true)}, 1, kInfinite);
  expect({output_of(kUndefined, kUndefined), output_of(0.9, 30)}, -1, -kInfinite);
  OutputAgreement two_magnitudes = output_of(0.99, 40);
  two_magnitudes.minor = Agreement{0.2, 3};
  expect({two_magnitudes}, 0.2, 3);
  two_magnitudes.minor = Agreement{kUndefined, kUndefined};
  expect({two_magnitudes}, -1, -kInfinite);
  EXPECT_EQ(compare::worst_agreement({}).status().code(), Code::kUnsupported);
}

const std::string kPartNet =
    cat("g (float[1, 3, 6, 6] x) => (float[1, 2] y) <float[4, 3, 1, 1] w = ", test::numbers(12, 1),
        ", float[4] b = ", test::numbers(4, 2), ", float[4, 2] v = ", test::numbers(8, 3),
        "> { [conv] c = Conv (x, w, b) [act] r = LeakyRelu (c) [pool] p = GlobalAveragePool (r) [flat] f = Flatten (p) "
        "[odd] s = Sin (f) [product] y = MatMul (s, v) }");

/// A model calibrated on four samples, with the float outputs that plans are compared with.
struct CalibratedRun {
  explicit CalibratedRun(const std::vector<std::string>& sets = {}, const std::string& preset = "A8W8")
      : bench(test::model_of(kPartNet), test::settings_for(preset, sets)),
        samples(bench.graph(), 4),
        loaded(bench.graph()) {
    bench.context.source.data = &samples;
    run({.until = pass::Phase::kRestructure});
    expected = compare::ExpectedOutputs::make(*bench.context.calibrated, prepare_for_run, {}, samples, 4).value();
  }
  void run(PhaseRange range) {
    std::vector<PassTime> times;
    const Status done = run_passes(bench.context, range, times, {});
    ASSERT_TRUE(done.ok()) << done.message();
  }
  Nodes named(const std::vector<std::string>& names) const {
    Nodes found;
    for (const ir::NodeId id : bench.graph().order()) {
      if (std::find(names.begin(), names.end(), bench.graph().node(id).name) != names.end()) found.insert(id);
    }
    EXPECT_EQ(found.size(), names.size());
    return found;
  }

  test::PassBench bench;
  test::RandomSamples samples;
  ir::Graph loaded;
  std::optional<compare::ExpectedOutputs> expected;
};

TEST(PartPlansTest, CandidatesAreQuantizedNodesInNodeOrder) {
  const CalibratedRun run({"nodes_to_exclude=[pool]"});
  std::string names;
  for (const ir::NodeId id : PartPlans(run.bench.context, *run.expected).candidates())
    names += join(loaded_names(run.loaded, run.bench.graph().node(id)), "+") + " ";
  EXPECT_EQ(names, "conv act product ");  // Sin is in no op set, Flatten has float neighbours
}

TEST(PartPlansTest, AllPartsAreTheWholePlanAndNoneIsTheFloatModel) {
  CalibratedRun run;
  const PartPlans parts(run.bench.context, *run.expected);
  const std::string before = plan::text(run.bench.context.plan, run.bench.graph());
  const std::vector<ir::NodeId> all = parts.candidates();
  const Agreement whole = parts.quantize_only({all.begin(), all.end()}).value();
  const Agreement none = parts.quantize_only({}).value();
  const Agreement one = parts.quantize_only(run.named({"product"})).value();
  EXPECT_EQ(plan::text(run.bench.context.plan, run.bench.graph()), before) << "a trial changed the plan";
  EXPECT_EQ(none.sqnr_db, kInfinite);
  EXPECT_NEAR(none.cosine, 1, 1e-12);
  EXPECT_TRUE(std::isfinite(one.sqnr_db));
  run.run({.from = pass::Phase::kRestructure, .until = pass::Phase::kWrite});
  const Agreement planned = judge_plan(run.bench.context, *run.expected).value();
  EXPECT_EQ(whole.cosine, planned.cosine);
  EXPECT_EQ(whole.sqnr_db, planned.sqnr_db);
}

TEST(RescueTest, TakesRunsWithIntegersWhoseRoundingNothingElseTuned) {
  const auto may = [](const std::string& preset, const std::vector<std::string>& sets = {}) {
    return may_rescue(test::settings_for(preset, sets));
  };
  EXPECT_TRUE(may("XINT8") && may("A8W8") && may("A16W8"));
  EXPECT_FALSE(may("A8W8_ADAQUANT") || may("A8W8_ADAROUND") || may("BF16") || may("BFP16") || may("MATMUL_NBITS"));
  EXPECT_FALSE(may("A8W8", {"quarkq.guards=off"}) || may("A8W8", {"quarkq.compat=quark-0.13"}));
  EXPECT_FALSE(may("A8W8", {"UseGPTQ=true"}) || may("A8W8", {"BiasCorrection=true"}));
  EXPECT_FALSE(may("A8W8", {"weight_type=QInt16"}));
}

TEST(RescueTest, BetterHasAFifthLessNoiseAndNoSmallerCosine) {
  const double fifth = 10 * std::log10(1 / 0.8);  // decibels
  EXPECT_TRUE(is_better({0.5, 10 + fifth + 1e-9}, {0.5, 10}));
  EXPECT_FALSE(is_better({0.5, 10 + fifth - 1e-6}, {0.5, 10}));
  EXPECT_FALSE(is_better({0.49, 40}, {0.5, 10}));  // zeros have less noise than poor outputs
  EXPECT_TRUE(is_better({0.5, 10}, {-1, -kInfinite}));
  EXPECT_FALSE(is_better({-1, -kInfinite}, {0.5, 10}));
  const config::Settings settings;
  EXPECT_TRUE(is_enough({0.97, 0}, settings));
  EXPECT_FALSE(is_enough({0.9699, 50}, settings) || is_enough({kUndefined, 50}, settings));
  config::Settings strict;
  strict.tool.min_cosine = 0.995;
  EXPECT_FALSE(is_enough({0.99, 50}, strict));
  EXPECT_TRUE(is_enough({0.995, 50}, strict));
}

TEST(RescueTest, RemediesChangeSettingsAndSelection) {
  CalibratedRun run({"TensorQuantOverrides={r: [{quant_type: QuantType.QInt8}]}"});
  RunState trial = trial_before_mark(run.bench.context);
  const config::Settings& settings = trial.settings;
  plan::Selection& selection = trial.selection;
  const ir::Graph& graph = trial.graph();
  Remedies remedies;
  EXPECT_TRUE(remedies.empty());
  remedies.in_16_bits = run.named({"act", "product"});
  remedies.left_float = run.named({"pool"});
  EXPECT_FALSE(remedies.empty());
  apply(remedies, trial);
  EXPECT_EQ(selection.left_float, run.named({"pool"}));
  EXPECT_FALSE(settings.formats.per_channel || settings.tool.rounding);
  std::string widened;
  for (const auto& [value, made] : selection.overrides) {
    if (made.type == config::DataType::kInt16) widened += graph.value(value).name + " ";
  }
  EXPECT_EQ(widened, "c s y ") << "r has a type of its own, weights stay";
  apply({.weights = {.rounding = "compensated"}, .channel_scales = true, .in_16_bits = {}, .left_float = {}}, trial);
  EXPECT_FALSE(run.bench.settings.formats.per_channel) << "a trial changed the run";
  EXPECT_TRUE(settings.formats.per_channel);
  EXPECT_EQ(settings.tool.rounding, "compensated");
  EXPECT_EQ(settings.origin_of("quarkq.rounding"), config::Origin::kRescue);
  EXPECT_EQ(settings.origin_of("per_channel"), config::Origin::kRescue);
  trial.settings.formats.activation_type = config::DataType::kUInt8;
  selection.overrides.clear();
  apply(remedies, trial);
  EXPECT_EQ(selection.overrides.at(graph.find("y")).type, config::DataType::kUInt16);
}

TEST(RescueTest, TextSaysWhatChangedAndHowToHaveItBySettings) {
  RescueReport report;
  report.before = {0.25, 1};
  report.after = {0.5, 9};
  report.samples = 4;
  report.channel_scales = true;
  report.float_nodes = {"a", "b"};
  report.float_macs = 0.0125;
  report.islands = 2;
  report.settings = {"per_channel=true", "nodes_to_exclude=[\"a\",\"b\"]"};
  EXPECT_EQ(rescue_text(report),
            "cosine 0.25 becomes 0.5 on 4 calibration samples: weights have a scale per channel; 2 nodes stay float "
            "(a, b; 1.3 % "
            "of the multiply-accumulates, 2 connected parts). The same by settings: --set 'per_channel=true' --set "
            "'nodes_to_exclude=[\"a\",\"b\"]'; --on-collapse warn leaves the plain result");
  report.settings_path = "out.rescued.yaml";
  report.float_nodes = {"a", "b", "c", "d"};
  EXPECT_NE(rescue_text(report).find("4 nodes stay float (a, b, c, ...; 1.3 %"), std::string::npos);
  EXPECT_NE(rescue_text(report).find("The same by settings: --config out.rescued.yaml; "), std::string::npos);
  report.float_nodes.resize(2);
  report.unnamed_float_nodes = 1;
  EXPECT_NE(rescue_text(report).find("3 nodes stay float"), std::string::npos);
  EXPECT_NE(rescue_text(report).find("Settings cannot express the same: 1 of the float nodes have no name"),
            std::string::npos);
  report.float_changes = {"ReplaceClip6Relu=false"};
  report.tensors_in_16_bits = {"t"};
  EXPECT_NE(rescue_text(report).find("Clip(0, 6) stays as it is; weights have a scale"), std::string::npos);
  EXPECT_NE(rescue_text(report).find("1 activations have 16 bits"), std::string::npos);
}

struct OpenRemedy {
  const char* preset;
  std::vector<std::string> sets;
  const char* node;  ///< between the Convs
  std::vector<std::string> open;
};

TEST(FloatRemediesTest, AreOpenWhereTheyChangeSomethingThatNobodyAskedFor) {
  const char* const clip = "m = Clip (c, zero, six)";
  const char* const ranges = "calibrate_method=ExtendedCalibrationMethod.MinMSE";
  const char* const votes = "MinMSEModePof2Scale=MostCommon";
  const OpenRemedy rows[] = {
      {"XINT8", {}, "m = Sigmoid (c)", {votes, "ConvertSigmoidToHardSigmoid=false"}},
      {"XINT8", {"ConvertSigmoidToHardSigmoid=true"}, "m = Sigmoid (c)", {votes}},
      {"XINT8", {}, "m = Relu (c)", {votes}},
      {"XINT8", {"MinMSEModePof2Scale=All"}, "m = Relu (c)", {}},
      {"XINT8", {"calibrate_method=PowerOfTwoMethod.NonOverflow"}, "m = Relu (c)", {}},
      {"A8W8", {}, "m = Sigmoid (c)", {ranges}},
      {"A16W8", {}, "m = Sigmoid (c)", {}},
      {"A8W8", {"calibrate_method=CalibrationMethod.MinMax"}, "m = Sigmoid (c)", {}},
      {"A8W8", {}, clip, {ranges, "quarkq.equalize_clipped=true"}},
      {"A8W8", {"quarkq.equalize_clipped=false"}, clip, {ranges}},
      {"A8W8", {"per_channel=true"}, clip, {ranges}},
      {"A8W8", {}, "k = Sin (c) m = Clip (k, zero, six)", {ranges}},
  };
  for (const OpenRemedy& row : rows) {
    test::PassBench bench(
        test::model_of(
            cat("g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) <float[2, 2, 1, 1] w = {1, 2, 3, 4}, float "
                "zero = {0}, float six = {6}> { c = Conv (x, w) ",
                row.node, " y = Conv (m, w) }")),
        test::settings_for(row.preset, row.sets));
    bench.run(planning::select_nodes);
    bench.context.calibrated = std::make_shared<const ir::Model>(bench.model);
    std::vector<std::string> open;
    for (const FloatRemedy& remedy : float_remedies()) {
      if (remedy.is_open(bench.context, bench.graph())) open.emplace_back(remedy.setting);
    }
    EXPECT_EQ(open, row.open) << row.preset << " " << join(row.sets, " ") << " " << row.node;
  }
}

TEST(FloatRemediesTest, EachIsASettingThatHasItsEffect) {
  for (const FloatRemedy& remedy : float_remedies()) {
    const char* preset = std::string_view(remedy.setting).starts_with("calibrate_method") ? "A8W8" : "XINT8";
    config::Settings applied = test::settings_for(preset);
    remedy.apply(applied);
    const config::Settings set = test::settings_for(preset, {remedy.setting});
    EXPECT_EQ(applied.ranges.calibrate_method, set.ranges.calibrate_method) << remedy.setting;
    EXPECT_EQ(applied.ranges.min_mse_mode_pof2_scale, set.ranges.min_mse_mode_pof2_scale) << remedy.setting;
    EXPECT_EQ(applied.npu.convert_sigmoid_to_hard_sigmoid, set.npu.convert_sigmoid_to_hard_sigmoid) << remedy.setting;
    EXPECT_EQ(applied.preprocessing.replace_clip6_relu, set.preprocessing.replace_clip6_relu) << remedy.setting;
    EXPECT_EQ(applied.tool.equalize_clipped, set.tool.equalize_clipped) << remedy.setting;
  }
}

TEST(FloatRemediesTest, ATrialRunsInTheEnvironmentOfItsRun) {
  test::PassBench bench(
      test::model_of("g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) <float[2, 2, 1, 1] w = {1, 2, 3, 4}> { c = Conv "
                     "(x, w) m = Sigmoid (c) y = Conv (m, w) }"),
      test::settings_for("XINT8"));
  const ir::Model loaded = bench.model;
  Source source;
  source.samples.opened = std::make_unique<test::RandomSamples>(loaded.graph, 2);
  bench.context.environment.memory_ceiling = int64_t{1} << 40;
  bench.context.environment.threads.threads = 3;
  std::vector<PassTime> times;
  ASSERT_TRUE(plan_model(source, bench.context, pass::Phase::kWrite, times, {}).ok());
  const auto expected = compare::ExpectedOutputs::make(loaded, prepare_for_run, {}, *source.samples.get(), 2);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  const FloatRun again{loaded, source, expected.value(), times};
  size_t tried = 0;
  for (const FloatRemedy& remedy : float_remedies()) {
    const Result<std::optional<Trial>> trial = try_remedy(remedy, bench.context, again, {});
    ASSERT_TRUE(trial.ok()) << trial.status().message();
    if (!trial.value()) continue;
    ++tried;
    EXPECT_EQ(trial.value()->state.environment.memory_ceiling, int64_t{1} << 40) << remedy.setting;
    EXPECT_EQ(trial.value()->state.environment.threads.threads, 3) << remedy.setting;
  }
  EXPECT_EQ(tried, 2u) << "scales of most samples, and Sigmoid stays as it is";
}

}  // namespace
}  // namespace quarkq::pipeline
