// SPDX-License-Identifier: MIT
// The reference's recorded numbers (golden/calibration.json of the shared folder). Tests that need them skip without
// it.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/shared_records.h"

namespace quarkq::test {

using Json = nlohmann::ordered_json;

/// The whole file; null when it is not there.
inline const Json& golden_calibration() {
  static const Json golden = [] {
    std::ifstream in(QUARKQ_SHARED_DIR "/golden/calibration.json");
    return in ? Json::parse(in) : Json();
  }();
  return golden;
}

#define QQ_SKIP_WITHOUT_GOLDEN() QQ_NEED_RECORD(!::quarkq::test::golden_calibration().is_null())

/// "0x3f800000" -> 1.0f
inline float float_of_bits(const Json& hex) {
  return std::bit_cast<float>(static_cast<uint32_t>(std::stoul(hex.get<std::string>(), nullptr, 16)));
}

/// gen(seed, count) of ref:calibration#worked-examples: sums of twelve uniform numbers of a 32-bit generator, exact in
/// float32.
inline std::vector<float> generated(uint32_t seed, size_t count) {
  std::vector<float> values(count);
  uint32_t state = seed;
  for (float& value : values) {
    double sum = 0;
    for (int i = 0; i < 12; ++i) {
      state = state * 1664525u + 1013904223u;
      sum += (state >> 16) / 65536.0;
    }
    value = static_cast<float>(sum - 6);
  }
  return values;
}

/// The samples of a data set.
inline std::vector<std::vector<float>> golden_samples(const std::string& name) {
  if (name == "normal4096" || name == "outlier4096") {
    std::vector<float> values = generated(777, 4096);
    if (name == "outlier4096") values.back() = 50.0f;
    return {values};
  }
  std::vector<std::vector<float>> samples;
  for (const Json& row : golden_calibration()["datasets"][name]["values_bits"]) {
    samples.emplace_back();
    for (const Json& bits : row) samples.back().push_back(float_of_bits(bits));
  }
  return samples;
}

}  // namespace quarkq::test
