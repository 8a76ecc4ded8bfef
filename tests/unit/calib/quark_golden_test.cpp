// SPDX-License-Identifier: MIT
// The reference's calibration methods against what it recorded: every configuration with every data set, bit for bit.
#include <bit>
#include <functional>
#include <optional>

#include "calib/quark/minmse_search.h"
#include "calib/quark/value_histogram.h"
#include "unit/calib/quark_support.h"
#include "unit/numeric/golden_calibration.h"

namespace quarkq::calib {
namespace {

using quark_test::Samples;
using quarkq::test::float_of_bits;
using quarkq::test::golden_calibration;
using quarkq::test::golden_samples;
using quarkq::test::Json;

struct Config {
  std::string method;
  MethodOptions options;
  std::optional<bool> symmetric_range;
  size_t first_samples = 0;  ///< 0: all
};

void set_option(Config& config, const std::string& key, const Json& value) {
  MethodOptions& options = config.options;
  if (key == "CalibTensorRangeSymmetric") {
    config.symmetric_range = value.get<bool>();
  } else if (key == "CalibDataSize") {
    config.first_samples = value.get<size_t>();
  } else if (key == "CalibMovingAverage") {
    options.moving_average = value.get<bool>();
  } else if (key == "NumBins") {
    options.num_bins = value.get<int64_t>();
  } else if (key == "NumQuantizedBins") {
    options.num_quantized_bins = value.get<int64_t>();
  } else if (key == "Percentile") {
    options.percentile = value.get<double>();
  } else if (key == "PercentileCandidates") {
    options.percentile_candidates = value.get<std::vector<double>>();
  } else if (key == "Scenario") {
    options.scenario = value.get<std::string>();
  } else if (key == "LWPMetric") {
    options.lwp_metric = value.get<std::string>();
  } else if (key == "LWPUseHistogram") {
    options.lwp_use_histogram = value.get<bool>();
  } else if (key == "MinMSEModePof2Scale") {
    options.minmse_mode = value.get<std::string>();
  } else if (key == "CalibOptimizeMem") {
    options.optimize_mem = value.get<bool>();
  } else if (key != "CalibMovingAverageConstant") {  // has no effect
    ADD_FAILURE() << "no option " << key;
  }
}

Config config_of(const Json& recorded) {
  Config config;
  config.method = recorded["method"].get<std::string>();
  const auto type = recorded["activation_type"].get<std::string>();
  config.options.spec.type = type == "QInt8"    ? ElementType::kInt8
                             : type == "QUInt8" ? ElementType::kUInt8
                                                : ElementType::kInt16;
  EXPECT_TRUE(config.options.spec.type != ElementType::kInt16 || type == "QInt16") << type;
  for (const auto& [key, value] : recorded["extra_options"].items()) set_option(config, key, value);
  return config;
}

/// Both ends bit for bit, and the methods that were tried.
void expect_recorded(const Config& config, Samples samples, const Json& recorded, const std::string& label) {
  if (config.first_samples > 0 && samples.size() > config.first_samples) samples.resize(config.first_samples);
  const bool* symmetric = config.symmetric_range ? &*config.symmetric_range : nullptr;
  const quark_test::Outcome found = quark_test::calibrate(config.method, config.options, symmetric, samples);
  EXPECT_EQ(found.methods_tried, recorded["methods_tried"].get<std::vector<std::string>>()) << label;
  for (const bool is_max : {false, true}) {
    const float wanted = float_of_bits(recorded["range"][is_max ? 1 : 0]["bits"]);
    const float end = is_max ? found.range.max : found.range.min;
    EXPECT_EQ(std::bit_cast<uint32_t>(end), std::bit_cast<uint32_t>(wanted))
        << label << ": found " << end << ", recorded " << wanted;
  }
}

TEST(QuarkGoldenTest, EveryConfigurationOnEveryDataSet) {
  QQ_SKIP_WITHOUT_GOLDEN();
  size_t compared = 0;
  for (const auto& [id, recorded] : golden_calibration()["configs"].items()) {
    const Config config = config_of(recorded);
    for (const auto& [set, entry] : golden_calibration()["results"][id].items()) {
      expect_recorded(config, golden_samples(set), entry, id + (" " + set));
      ++compared;
    }
  }
  EXPECT_EQ(compared, 35u * 13u);
}

template <typename Real>
void expect_histogram(const BinCounts& counts, int64_t bins, const Json& recorded,
                      const std::function<Real(int64_t)>& edge, const std::string& label) {
  const auto wanted = recorded["counts"].get<std::vector<int64_t>>();
  ASSERT_EQ(bins, static_cast<int64_t>(wanted.size())) << label;
  for (int64_t i = 0; i < bins; ++i) EXPECT_EQ(counts.at(i), wanted[static_cast<size_t>(i)]) << label << " bin " << i;
  for (int64_t i = 0; i <= bins; ++i) {
    const double value = std::stod(recorded["edges"][static_cast<size_t>(i)].get<std::string>());
    EXPECT_EQ(edge(i), static_cast<Real>(value)) << label << " edge " << i;
  }
}

TEST(QuarkGoldenTest, HistogramsAfterAllSamples) {
  QQ_SKIP_WITHOUT_GOLDEN();
  size_t compared = 0;
  for (const auto& [set, recorded] : golden_calibration()["histograms_after_all_samples"].items()) {
    const auto absolute = make_histogram_abs(8, false), value = make_histogram_signed(8, false);
    HistogramPow2 pow2(8);
    for (const std::vector<float>& sample : golden_samples(set)) {
      ASSERT_TRUE(absolute->add(clean_sample(sample)).ok());
      ASSERT_TRUE(value->add(clean_sample(sample)).ok());
      ASSERT_TRUE(pow2.add(sample).ok());
    }
    for (const auto& [key, histogram] :
         {std::pair("percentile_abs_b8", absolute.get()), std::pair("value_b8", value.get())}) {
      const ValueHistogram& found = *histogram;
      expect_histogram<float>(
          found.counts(), found.bins(), recorded[key], [&](int64_t i) { return found.edge(i); },
          set + (" " + std::string(key)));
      EXPECT_EQ(found.seen().min, float_of_bits(recorded[key]["min"]["bits"]));
      EXPECT_EQ(found.seen().max, float_of_bits(recorded[key]["max"]["bits"]));
    }
    expect_histogram<double>(
        pow2.counts(), pow2.bins(), recorded["pof2_b8"], [&](int64_t i) { return pow2.edge(i); }, set + " pof2_b8");
    ++compared;
  }
  EXPECT_EQ(compared, 5u);
}

/// The configurations of the edge cases, which the file names only.
std::optional<Config> edge_config(const std::string& name) {
  static const std::map<std::string, Json> kConfigs = {
      {"minmax", {{"method", "CalibrationMethod.MinMax"}}},
      {"nonoverflow", {{"method", "PowerOfTwoMethod.NonOverflow"}}},
      {"percentile", {{"method", "CalibrationMethod.Percentile"}}},
      {"entropy", {{"method", "CalibrationMethod.Entropy"}}},
      {"distribution", {{"method", "CalibrationMethod.Distribution"}}},
      {"lwp", {{"method", "LayerWiseMethod.LayerWisePercentile"}}},
      {"minmse", {{"method", "PowerOfTwoMethod.MinMSE"}}},
      {"percentile_101", {{"method", "CalibrationMethod.Percentile"}, {"Percentile", 101.0}}},
      {"entropy_b32_q128", {{"method", "CalibrationMethod.Entropy"}, {"NumBins", 32}, {"NumQuantizedBins", 128}}},
      {"lwp_badmetric", {{"method", "LayerWiseMethod.LayerWisePercentile"}, {"LWPMetric", "rmse"}}},
      {"datasize_0", {{"method", "CalibrationMethod.MinMax"}, {"CalibDataSize", 0}}},
      {"datasize_1", {{"method", "CalibrationMethod.MinMax"}, {"CalibDataSize", 1}}},
      {"minmse_unknown_mode", {{"method", "PowerOfTwoMethod.MinMSE"}, {"MinMSEModePof2Scale", "Most"}}},
      {"mostcommon_asym",
       {{"method", "PowerOfTwoMethod.MinMSE"},
        {"MinMSEModePof2Scale", "MostCommon"},
        {"CalibTensorRangeSymmetric", false}}},
  };
  const auto row = kConfigs.find(name);
  if (row == kConfigs.end()) return {};
  Json recorded = {{"method", row->second["method"]}, {"activation_type", "QInt8"}, {"extra_options", row->second}};
  recorded["extra_options"].erase("method");
  return config_of(recorded);
}

Samples edge_samples(const std::string& names) {
  const std::map<std::string, std::vector<float>> kSamples = {
      {"A", {1, 2, 3, -4}}, {"2A", {2, 4, 6, -8}}, {"B", {1, NAN, 3, -4}}, {"N", {NAN, NAN, NAN, NAN}}};
  const size_t comma = names.find(',');
  return {kSamples.at(names.substr(0, comma)), kSamples.at(names.substr(comma + 1))};
}

TEST(QuarkGoldenTest, EdgeCases) {
  QQ_SKIP_WITHOUT_GOLDEN();
  size_t compared = 0;
  for (const auto& [key, recorded] : golden_calibration()["edge_cases"]["cases"].items()) {
    const size_t slash = key.find('/');
    const std::optional<Config> config = edge_config(key.substr(0, slash));
    if (recorded.contains("error")) continue;  // settings that are refused before any method runs
    ASSERT_TRUE(config) << key;
    expect_recorded(*config, edge_samples(key.substr(slash + 1)), recorded, key);
    ++compared;
  }
  EXPECT_EQ(compared, 35u);
}

}  // namespace
}  // namespace quarkq::calib
