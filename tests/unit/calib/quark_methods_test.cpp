// SPDX-License-Identifier: MIT
// The reference's calibration methods on worked examples of ref:calibration#worked-examples, and what they refuse.
// Needs no recorded file.
#include <cmath>
#include <functional>
#include <limits>

#include "unit/calib/quark_support.h"
#include "unit/numeric/golden_calibration.h"

namespace quarkq::calib {
namespace {

using numeric::Range;
using quark_test::Samples;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The data set `normal`: four samples of 32 values.
Samples normal() {
  const std::vector<float> values = quarkq::test::generated(12345, 128);
  constexpr float kFactors[] = {1, 0.5f, 2, 1.25f};
  Samples samples(4);
  for (size_t i = 0; i < values.size(); ++i) samples[i / 32].push_back(values[i] * kFactors[i / 32]);
  return samples;
}

Samples outlier() {
  Samples samples = normal();
  samples[1][7] = 40;
  return samples;
}

using Change = std::function<void(MethodOptions&)>;

struct Example {
  const char* label;
  ObserverMaker* make;
  bool symmetric_range;
  Change change;
  Range normal, outlier;
};

const std::vector<double> kCandidates = {90, 95, 99, 99.9};

std::vector<Example> examples() {
  const Change as_is = [](MethodOptions&) {};
  return {
      {"MinMax", make_min_max_quark, false, as_is, {-5.0892333984375f, 4.760955810546875f}, {-5.0892333984375f, 40}},
      {"NonOverflow", make_min_max_quark, true, as_is, {-5.0892333984375f, 5.0892333984375f}, {-40, 40}},
      {"moving average",
       make_min_max_quark,
       false,
       [](MethodOptions& o) { o.moving_average = true; },
       {-2.531148910522461f, 2.350430488586426f},
       {-2.531148910522461f, 12.083958625793457f}},
      {"Percentile",
       make_percentile_quark,
       true,
       as_is,
       {-5.0882158279418945f, 4.760955810546875f},
       {-5.0882158279418945f, 5.0882158279418945f}},
      {"Percentile, asymmetric",
       make_percentile_quark,
       false,
       [](MethodOptions& o) { o.percentile = 98, o.num_bins = 64; },
       {-3.997635841369629f, 4.070320129394531f},
       {-3.9976348876953125f, 4.724479675292969f}},
      {"Entropy",
       make_entropy_quark,
       false,
       as_is,
       {-2.4712657928466797f, 2.507607936859131f},
       {-2.580291748046875f, 2.6166343688964844f}},
      {"Entropy, 64 of 256 bins",
       make_entropy_quark,
       false,
       [](MethodOptions& o) { o.num_bins = 256, o.num_quantized_bins = 64; },
       {-3.961293935775757f, 3.979464530944824f},
       {-2.471263885498047f, 2.4894371032714844f}},
      {"Distribution",
       make_distribution_quark,
       false,
       as_is,
       {-5.090171813964844f, 5.090171813964844f},
       {-40.0013427734375f, 40.0013427734375f}},
      {"LayerwisePercentile",
       make_layerwise_percentile_quark,
       true,
       [](MethodOptions& o) { o.percentile_candidates = kCandidates; },
       {-4.760937690734863f, 4.760937690734863f},
       {-5.0882158279418945f, 5.0882158279418945f}},
      {"LayerwisePercentile, values",
       make_layerwise_percentile_quark,
       true,
       [](MethodOptions& o) { o.percentile_candidates = kCandidates, o.lwp_use_histogram = false; },
       {-5.0882158279418945f, 4.760955810546875f},
       {-5.0882158279418945f, 5.0882158279418945f}},
      {"LayerwisePercentile, values as float16",
       make_layerwise_percentile_quark,
       true,
       [](MethodOptions& o) {
         o.percentile_candidates = kCandidates, o.lwp_use_histogram = false, o.optimize_mem = true;
       },
       {-5.089080333709717f, 4.76171875f},
       {-5.08984375f, 39.999149322509766f}},
      {"MinMSE", make_minmse_quark, true, as_is, {-7.9375f, 7.9375f}, {-63.5f, 63.5f}},
      {"MinMSE, values",
       make_minmse_quark,
       true,
       [](MethodOptions& o) { o.num_bins = 0; },
       {-7.9375f, 7.9375f},
       {-63.5f, 63.5f}},
      {"MinMSE, values, asymmetric",
       make_minmse_quark,
       false,
       [](MethodOptions& o) { o.num_bins = 0, o.spec.type = ElementType::kUInt8; },
       {-8.25f, 7.6875f},
       {-7.25f, 56.5f}},
      {"MinMSE, most common",
       make_minmse_quark,
       true,
       [](MethodOptions& o) { o.minmse_mode = "MostCommon"; },
       {-1.984375f, 1.984375f},
       {-1.984375f, 1.984375f}},
      {"MinMSE, percentile",
       make_minmse_quark,
       true,
       [](MethodOptions& o) { o.minmse_mode = "Percentile", o.percentile = 98; },
       {-3.96875f, 3.96875f},
       {-3.96875f, 3.96875f}},
  };
}

MethodOptions example_options(const Example& example) {
  MethodOptions options;
  options.symmetric_range = example.symmetric_range;
  example.change(options);
  return options;
}

TEST(QuarkMethodsTest, WorkedExamples) {
  for (const Example& example : examples()) {
    for (const bool with_outlier : {false, true}) {
      const Result<Range> found =
          quark_test::observed_range(example.make, example_options(example), with_outlier ? outlier() : normal());
      ASSERT_TRUE(found.ok()) << example.label << ": " << found.status().message();
      EXPECT_EQ(found.value(), with_outlier ? example.outlier : example.normal)
          << example.label << ": [" << found.value().min << ", " << found.value().max << "]";
    }
  }
}

/// What any method meets: it may fail, but must neither crash nor take memory by the size of an outlier.
TEST(QuarkMethodsTest, SurvivesHostileSamples) {
  const float largest = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  const std::vector<Samples> hostile = {
      {},
      {{}},
      {{}, {}},
      {{1}, {}},
      {{}, {1, 2}},
      {{NAN, NAN}, {1, 2}},
      {{1, 2}, {NAN, NAN}},
      {{kInfinity}, {-kInfinity}},
      {{1, kInfinity}, {-kInfinity, 2}},
      {{1, 2}, {kInfinity, -kInfinity, NAN}},
      {{0}, {largest}},
      {{-largest, largest}, {1}},
      {{least, 2 * least}, {1}, {largest}},
      {{1, 2}, {1e30f}},
      {{1e30f}, {1, 2}},
      {{-0.0f, 0.0f}, {least}},
  };
  for (const Example& example : examples()) {
    for (size_t i = 0; i < hostile.size(); ++i) {
      for (const bool is_half : {false, true}) {
        MethodOptions options = example_options(example);
        options.is_half = is_half;
        const Result<Range> found = quark_test::observed_range(example.make, options, hostile[i]);
        if (found.ok()) continue;
        EXPECT_FALSE(found.status().message().empty()) << example.label << " " << i;
      }
    }
    EXPECT_FALSE(quark_test::observed_range(example.make, example_options(example), {}).ok()) << example.label;
  }
}

TEST(QuarkMethodsTest, FailsWhereTheReferenceRaises) {
  const Samples with_infinity = {{1, 2, -3}, {1, kInfinity, 2}}, too_narrow = {{1, 1 + 0x1p-22f, 1 + 0x1p-21f}};
  const Samples too_wide = {{0, 1e-20f}, {1}}, empty_later = {{1, 2}, {}};
  struct Case {
    const char* label;
    ObserverMaker* make;
    bool symmetric_range;
    Samples samples;
    const char* message;
  };
  const Case cases[] = {
      {"percentile", make_percentile_quark, true, with_infinity, "infinity"},
      {"percentile", make_percentile_quark, false, with_infinity, "infinity"},
      {"entropy", make_entropy_quark, false, with_infinity, "infinity"},
      {"distribution", make_distribution_quark, false, with_infinity, "infinity"},
      {"minmse", make_minmse_quark, true, with_infinity, "exceeds 2147483648 bins"},
      {"percentile", make_percentile_quark, true, too_narrow, "too narrow for 2048 bins"},
      {"layerwise", make_layerwise_percentile_quark, true, too_narrow, "too narrow for 2048 bins"},
      {"percentile", make_percentile_quark, true, too_wide, "exceeds 2147483648 bins"},
      {"percentile", make_percentile_quark, false, too_wide, "exceeds 2147483648 bins"},
      {"minmse", make_minmse_quark, true, too_wide, "exceeds 2147483648 bins"},
      {"percentile", make_percentile_quark, true, empty_later, "empty"},
      {"minmse", make_minmse_quark, true, empty_later, "empty"},
  };
  for (const Case& item : cases) {
    MethodOptions options;
    options.symmetric_range = item.symmetric_range;
    const Result<Range> found = quark_test::observed_range(item.make, options, item.samples);
    ASSERT_FALSE(found.ok()) << item.label;
    EXPECT_NE(found.status().message().find(item.message), std::string::npos) << found.status().message();
  }
}

TEST(QuarkMethodsTest, RefusesOptionsOutsideTheirLimits) {
  struct Case {
    ObserverMaker* make;
    Change change;
    const char* message;
  };
  const Case cases[] = {
      {make_percentile_quark, [](MethodOptions& o) { o.percentile = 101; }, "percentile: found 101, allowed are 0 to"},
      {make_percentile_quark, [](MethodOptions& o) { o.percentile = NAN; }, "allowed are 0 to 100"},
      {make_distribution_quark, [](MethodOptions& o) { o.num_bins = 511; }, "num_bins: found 511, allowed are 512"},
      {make_distribution_quark, [](MethodOptions& o) { o.scenario = "p4"; }, "scenario: found \"p4\""},
      {make_distribution_quark, [](MethodOptions& o) { o.is_half = true; }, "float16"},
      {make_entropy_quark, [](MethodOptions& o) { o.num_quantized_bins = 0; }, "num_quantized_bins: found 0"},
      {make_layerwise_percentile_quark, [](MethodOptions& o) { o.lwp_metric = "rmse"; }, "lwp_metric: found \"rmse\""},
      {make_layerwise_percentile_quark, [](MethodOptions& o) { o.percentile_candidates.clear(); }, "none given"},
      {make_layerwise_percentile_quark,
       [](MethodOptions& o) {
         o.percentile_candidates = {99, -1};
       },
       "found -1"},
      {make_layerwise_percentile_quark, [](MethodOptions& o) { o.spec.type = ElementType::kBFloat16; }, "BFLOAT16"},
      {make_minmse_quark, [](MethodOptions& o) { o.minmse_mode = "Percentile", o.percentile = -1; }, "found -1"},
      {make_minmse_quark, [](MethodOptions& o) { o.symmetric_range = false; }, "needs a symmetric range"},
  };
  for (const Case& item : cases) {
    MethodOptions options;
    options.symmetric_range = true;
    item.change(options);
    const auto made = item.make(options);
    ASSERT_FALSE(made.ok()) << item.message;
    EXPECT_NE(made.status().message().find(item.message), std::string::npos) << made.status().message();
  }
  for (const int64_t bins : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    MethodOptions options;
    options.num_bins = bins;
    EXPECT_FALSE(quark_test::observed_range(make_percentile_quark, options, {{1, 2}}).ok()) << bins;
  }
}

/// Entropy must offer at least one candidate.
TEST(QuarkMethodsTest, EntropyNeedsAsManyBinsAsItQuantizesTo) {
  MethodOptions options;
  options.num_bins = 32;
  const Result<Range> found = quark_test::observed_range(make_entropy_quark, options, {{1, 2}});
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.status().message().find("found 128, the histogram has only 32 bins"), std::string::npos);
}

TEST(QuarkMethodsTest, MinMaxRepairsOnlyTheFirstSample) {
  const MethodOptions options;
  EXPECT_EQ(quark_test::observed_range(make_min_max_quark, options, {{NAN, 5}, {1, 2}}).value(), (Range{0, 2}));
  EXPECT_EQ(quark_test::observed_range(make_min_max_quark, options, {{1, 2}, {NAN, 5}}).value(), (Range{1, 2}));
  EXPECT_EQ(quark_test::observed_range(make_min_max_quark, options, {{1, 2}, {3, NAN, 5}}).value(), (Range{1, 5}));
  EXPECT_EQ(quark_test::observed_range(make_min_max_quark, options, {{1, 2}, {}, {kInfinity}}).value(),
            (Range{1, kInfinity}));
  EXPECT_EQ(quark_test::observed_range(make_min_max_quark, options, {{}, {}}).value(), (Range{0, 0}));
}

TEST(QuarkMethodsTest, WorkersStackSamplesOfOneSizeOnly) {
  MethodOptions options;
  options.symmetric_range = true;
  options.lwp_use_histogram = false;
  options.worker_num = 2;
  EXPECT_TRUE(quark_test::observed_range(make_layerwise_percentile_quark, options, normal()).ok());
  EXPECT_FALSE(quark_test::observed_range(make_layerwise_percentile_quark, options, {{1, 2}, {1, 2, 3}}).ok());
}

}  // namespace
}  // namespace quarkq::calib
