// SPDX-License-Identifier: MIT
// Ranges of the calibration methods against those that the reference found for the same data.
#include "calib/calibrator_table.h"

#include <algorithm>
#include <cmath>

#include "unit/numeric/golden_calibration.h"

namespace quarkq::calib {
namespace {

using numeric::Range;

/// A recorded configuration and the method that stands for it.
struct Case {
  const char* config;
  config::CalibrateMethod method;
  ElementType type = ElementType::kInt8;
  bool symmetric = false, moving_average = false;
  size_t first_samples = 0;  ///< 0: all
};

MethodOptions options_of(const Case& item) {
  MethodOptions options;
  options.spec.type = item.type;
  options.spec.symmetric = true;
  options.symmetric_range = item.symmetric;
  options.moving_average = item.moving_average;
  return options;
}

Range range_of(const Case& item, std::vector<std::vector<float>> samples) {
  const Calibrator* calibrator = find_calibrator(item.method, /*compat=*/false);
  if (item.first_samples > 0 && samples.size() > item.first_samples) samples.resize(item.first_samples);
  ValueStatistics statistics(calibrator->needs_bins);
  uint64_t number = 0;
  for (const std::vector<float>& sample : samples) {
    statistics.add(sample.data(), static_cast<int64_t>(sample.size()), number++);
  }
  return calibrator->finish(statistics, options_of(item)).value();
}

Range recorded_range(const test::Json& entry) {
  return {test::float_of_bits(entry["range"][0]["bits"]), test::float_of_bits(entry["range"][1]["bits"])};
}

TEST(CalibratorsTest, EveryRowIsFoundByItsMethod) {
  for (const Calibrator& row : calibrators()) {
    EXPECT_EQ(find_calibrator(row.method, row.is_compat()), &row);
    EXPECT_NE(row.finish == nullptr, row.observe == nullptr);
    EXPECT_NE(find_calibrator(row.fallback, row.is_compat()), nullptr);
    EXPECT_FALSE(std::string(row.summary).empty());
  }
  EXPECT_EQ(find_calibrator(config::CalibrateMethod::kFloatMinMSE, /*compat=*/true), nullptr);
}

ValueStatistics seen(const std::vector<std::vector<float>>& samples) {
  ValueStatistics statistics(/*with_bins=*/true);
  uint64_t number = 0;
  for (const auto& sample : samples) statistics.add(sample.data(), static_cast<int64_t>(sample.size()), number++);
  return statistics;
}

TEST(CalibratorsTest, FloatMinMseCutsOneOutlierAtItsEnd) {
  std::vector<float> values;
  values.reserve(200001);
  for (int i = 0; i < 200000; ++i) values.push_back(static_cast<float>(i % 201 - 100) / 100);
  values.push_back(40);
  MethodOptions options;
  for (const bool symmetric : {false, true}) {
    options.spec.symmetric = symmetric;
    const Range range = finish_float_mse(seen({values}), options).value();
    EXPECT_LT(range.max, 39) << symmetric;
    EXPECT_NEAR(range.min, symmetric ? -range.max : -1, 0.1);
  }
  values.back() = 1;
  options.spec.symmetric = false;
  EXPECT_NEAR(finish_float_mse(seen({values}), options).value().max, 1, 0.1) << "nothing to cut";
}

TEST(CalibratorsTest, AConstantOfTheUserMovesTheAverage) {
  const ValueStatistics statistics = seen({{0, 8}, {-4, 16}, {0, 0}});
  MethodOptions options;
  options.moving_average = true;
  EXPECT_EQ(finish_min_max(statistics, options).value(), (Range{-4.0f / 3, 8}));
  options.averaging_constant = 0.5;
  EXPECT_EQ(finish_min_max(statistics, options).value(), (Range{-1, 6}));
}

TEST(CalibratorsTest, SymmetryThatTheUserAsksForIsOfTheWholeRange) {
  const ValueStatistics statistics = seen({{0, 1, 2, 8}});
  MethodOptions options;
  options.percentile = 100;
  options.symmetric_range = true;
  const Calibrator& percentile = *find_calibrator(config::CalibrateMethod::kPercentile, /*compat=*/false);
  EXPECT_EQ(finish_range(percentile, statistics, options).value(), (Range{0, 8}));
  options.symmetric_asked = true;
  EXPECT_EQ(finish_range(percentile, statistics, options).value(), (Range{-8, 8}));
}

TEST(CalibratorsTest, MinMaxRangesAreTheRecordedOnes) {
  QQ_SKIP_WITHOUT_GOLDEN();
  using config::CalibrateMethod;
  const Case cases[] = {
      {"minmax", CalibrateMethod::kMinMax},
      {"minmax_sym", CalibrateMethod::kMinMax, ElementType::kInt8, true},
      {"minmax_movavg", CalibrateMethod::kMinMax, ElementType::kInt8, false, true},
      {"minmax_movavg_c05", CalibrateMethod::kMinMax, ElementType::kInt8, false, true},
      {"minmax_ds2", CalibrateMethod::kMinMax, ElementType::kInt8, false, false, 2},
      {"nonoverflow", CalibrateMethod::kNonOverflow, ElementType::kInt8, true},
  };
  for (const Case& item : cases) {
    for (const auto& [set, entry] : test::golden_calibration()["results"][item.config].items()) {
      const Range wanted = recorded_range(entry), found = range_of(item, test::golden_samples(set));
      if (std::isinf(wanted.min) || std::isinf(wanted.max)) {
        // The reference keeps an infinity; ours reports it and takes the finite values.
        EXPECT_TRUE(std::isfinite(found.min) && std::isfinite(found.max)) << item.config << " " << set;
        continue;
      }
      EXPECT_EQ(found, wanted) << item.config << " " << set << ": found [" << found.min << ", " << found.max
                               << "], recorded [" << wanted.min << ", " << wanted.max << "]";
    }
  }
}

TEST(CalibratorsTest, InfinitiesAndNansStayOutOfTheRange) {
  const std::vector<std::vector<float>> samples = {{1, NAN, -3}, {2, INFINITY, -INFINITY}};
  EXPECT_EQ(range_of({"", config::CalibrateMethod::kMinMax}, samples), (Range{-3, 2}));
  EXPECT_EQ(range_of({"", config::CalibrateMethod::kNonOverflow, ElementType::kInt8, true}, samples), (Range{-3, 3}));
}

/// Squared error of storing `samples` with one scale: the figure that MinMSE minimizes.
double error_of(const std::vector<std::vector<float>>& samples, float scale, numeric::IntegerRange limits,
                int32_t zero_point) {
  double error = 0;
  for (const std::vector<float>& sample : samples) {
    for (const float value : sample) {
      if (!std::isfinite(value)) continue;
      const double steps = std::clamp(std::nearbyint(static_cast<double>(value) / scale) + zero_point,
                                      static_cast<double>(limits.min), static_cast<double>(limits.max));
      const double difference = value - (steps - zero_point) * static_cast<double>(scale);
      error += difference * difference;
    }
  }
  return error;
}

/// Where another of the five candidates than the recorded one is right, too: both errors are zero.
constexpr const char* kOtherwise[] = {
    "minmse_b64 constant",  // the reference sees the centre of a bin of width 1/64, not 0.75
    "minmse_i16 constant",  // ours prefers the finer of two exact scales when 16 bits resolve more than the bins
};

void expect_recorded_power(const Case& item, const std::string& set, const test::Json& entry) {
  const MethodOptions options = options_of(item);
  const numeric::IntegerRange limits = options.spec.range();
  const auto steps = static_cast<float>(limits.max - limits.min);
  const Range wanted = recorded_range(entry), found = range_of(item, test::golden_samples(set));
  const float wanted_scale = (wanted.max - wanted.min) / steps, found_scale = (found.max - found.min) / steps;
  const int32_t zero_point = item.type == ElementType::kUInt8 ? 128 : 0;
  const auto samples = test::golden_samples(set);
  const double found_error = error_of(samples, found_scale, limits, zero_point);
  const double wanted_error = error_of(samples, wanted_scale, limits, zero_point);
  const std::string label = item.config + (" " + set);
  if (std::find(std::begin(kOtherwise), std::end(kOtherwise), label) != std::end(kOtherwise)) {
    EXPECT_EQ(found_error, wanted_error) << label;
    return;
  }
  EXPECT_EQ(found_scale, wanted_scale) << label << ": error " << found_error << ", with the recorded scale "
                                       << wanted_error;
}

TEST(CalibratorsTest, MinMseScalesAreTheRecordedPowersOfTwo) {
  QQ_SKIP_WITHOUT_GOLDEN();
  using config::CalibrateMethod;
  const Case cases[] = {
      {"minmse", CalibrateMethod::kMinMSE, ElementType::kInt8, true},
      {"minmse_b64", CalibrateMethod::kMinMSE, ElementType::kInt8, true},
      {"minmse_raw_nomem", CalibrateMethod::kMinMSE, ElementType::kInt8, true},
      {"minmse_u8", CalibrateMethod::kMinMSE, ElementType::kUInt8, true},
      {"minmse_i16", CalibrateMethod::kMinMSE, ElementType::kInt16, true},
  };
  size_t compared = 0;
  for (const Case& item : cases) {
    for (const auto& [set, entry] : test::golden_calibration()["results"][item.config].items()) {
      if (entry["methods_tried"].size() > 1) continue;  // the reference fell back to another method
      if (set == "inf_in_third") continue;              // ours leaves infinities out
      expect_recorded_power(item, set, entry);
      ++compared;
    }
  }
  EXPECT_GE(compared, 50u);
}

TEST(CalibratorsTest, MinMseTakesTheBestOfItsCandidates) {
  const Case item{"", config::CalibrateMethod::kMinMSE, ElementType::kInt8, true};
  for (const float spread : {0.01f, 1.0f, 300.0f}) {
    std::vector<float> values = test::generated(99, 5000);
    for (float& value : values) value *= spread;
    const Range found = range_of(item, {values});
    const float scale = found.max / 127;
    const float most =
        std::max(*std::max_element(values.begin(), values.end()), -*std::min_element(values.begin(), values.end()));
    const int position = numeric::power_of_two_position(most / 127);
    double best = -1;
    for (int offset = -1; offset <= 3; ++offset) {
      const double error = error_of({values}, numeric::scale_of_position(position + offset), {-127, 127}, 0);
      best = best < 0 ? error : std::min(best, error);
    }
    EXPECT_NEAR(error_of({values}, scale, {-127, 127}, 0), best, 0.01 * best) << spread;
  }
}

}  // namespace
}  // namespace quarkq::calib
