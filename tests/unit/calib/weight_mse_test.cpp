// SPDX-License-Identifier: MIT
#include "calib/weight_mse.h"

#include <gtest/gtest.h>

#include "unit/numeric/golden_calibration.h"

namespace quarkq::calib {
namespace {

struct Mode {
  const char* name;
  WeightMseMode mode;
};
constexpr Mode kModes[] = {{"Percentile", WeightMseMode::kPercentile},
                           {"HistCenter", WeightMseMode::kHistCenter},
                           {"All", WeightMseMode::kAll}};

struct Type {
  const char* name;
  ElementType type;
  bool symmetric;
};
constexpr Type kTypes[] = {{"int8_sym", ElementType::kInt8, true},
                           {"uint8_asym", ElementType::kUInt8, false},
                           {"int16_sym", ElementType::kInt16, true}};

TEST(WeightMseTest, RecordedWeightsBitForBit) {
  QQ_SKIP_WITHOUT_GOLDEN();
  size_t compared = 0;
  for (const auto& [set, results] : test::golden_calibration()["weights_quantize_data"]["results"].items()) {
    std::vector<float> values;
    for (const std::vector<float>& sample : test::golden_samples(set))
      values.insert(values.end(), sample.begin(), sample.end());
    for (const Mode& mode : kModes) {
      for (const Type& type : kTypes) {
        const std::string key = std::string(mode.name) + "/" + type.name;
        if (!results.contains(key)) continue;
        SCOPED_TRACE(set + " " + key);
        const test::Json& wanted = results[key];
        numeric::QuantSpec spec;
        spec.type = type.type;
        spec.symmetric = type.symmetric;
        const auto found = search_weight_mse(values, spec, spec.range(), mode.mode);
        ASSERT_TRUE(found.ok()) << found.status().message();
        EXPECT_EQ(found.value().params.scale, test::float_of_bits(wanted["scale"]["bits"]));
        EXPECT_EQ(found.value().params.zero_point, wanted["zp"].get<int>());
        EXPECT_EQ(found.value().range.min, test::float_of_bits(wanted["range"][0]["bits"]));
        EXPECT_EQ(found.value().range.max, test::float_of_bits(wanted["range"][1]["bits"]));
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 60u);
}

TEST(WeightMseTest, AnOutlierIsCut) {
  std::vector<float> values;
  for (int i = 0; i < 20000; ++i) values.push_back(static_cast<float>(i % 201 - 100) / 100);
  values.push_back(1.2f);
  const auto found = search_weight_mse(values, {}, {-127, 127}, WeightMseMode::kPercentile);
  ASSERT_TRUE(found.ok());
  EXPECT_LT(found.value().range.max, 1.2f);
  EXPECT_GE(found.value().range.max, 0.99f);
}

TEST(WeightMseTest, NoValuesAndConstantsWork) {
  for (const Mode& mode : kModes) {
    EXPECT_EQ(search_weight_mse({}, {}, {-127, 127}, mode.mode).value().params.scale, 1.0f);
    const std::vector<float> constant(5, 0.0f);
    EXPECT_TRUE(search_weight_mse(constant, {}, {-127, 127}, mode.mode).ok());
  }
}

}  // namespace
}  // namespace quarkq::calib
