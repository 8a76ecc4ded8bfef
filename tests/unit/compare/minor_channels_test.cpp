// SPDX-License-Identifier: MIT
#include "compare/output_kinds.h"

#include <gtest/gtest.h>

#include "support/every_isa.h"

namespace quarkq::compare {
namespace {

using SampleValues = std::vector<std::vector<double>>;

/// Channel c of [1, places, channels] has the magnitude magnitudes[c].
SampleValues detections(size_t places, const std::vector<double>& magnitudes) {
  std::vector<double> values;
  for (size_t p = 0; p < places; ++p) {
    for (size_t c = 0; c < magnitudes.size(); ++c) values.push_back(magnitudes[c] * (p % 2 == 0 ? 1 : -0.5));
  }
  return {values, values};
}

ir::Shape rows(size_t places, size_t channels) {
  return {1, static_cast<int64_t>(places), static_cast<int64_t>(channels)};
}

TEST(MinorChannelsTest, AreTheScoresBesideBoxes) {
  const SampleValues samples = detections(40, {300, 280, 60, 50, 0.4, 0.02, 0.9});
  const auto found = find_minor_channels(samples, rows(40, 7));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->axis, 2);
  EXPECT_EQ(found->is_minor, (std::vector<bool>{false, false, false, false, true, true, true}));
  const std::vector<double> values = found->of(samples[0], rows(40, 7));
  ASSERT_EQ(values.size(), 120u);
  EXPECT_EQ(values[0], 0.4);
  EXPECT_EQ(values[3], -0.2);
}

TEST(MinorChannelsTest, ChannelsMayComeFirst) {
  std::vector<double> values(6 * 50, 0.5);
  std::fill(values.begin(), values.begin() + 4 * 50, 200.0);
  const auto found = find_minor_channels({values}, {1, 6, 50});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->axis, 1);
  EXPECT_EQ(found->of(values, {1, 6, 50}), std::vector<double>(100, 0.5));
}

TEST(MinorChannelsTest, AreNotFoundWhereMagnitudesAreLike) {
  EXPECT_FALSE(find_minor_channels(detections(40, {10, 5, 2, 8}), rows(40, 4)));
  EXPECT_FALSE(find_minor_channels(detections(40, {64, 32, 16, 8, 4, 2, 1}), rows(40, 7))) << "no gap";
  EXPECT_FALSE(find_minor_channels(detections(40, {20, 1}), rows(40, 2))) << "not far enough apart";
}

TEST(MinorChannelsTest, ClassesOfOneImageAreNoChannels) {
  std::vector<double> logits(1000, 1e-3);
  logits[3] = 50;
  EXPECT_FALSE(find_minor_channels({logits}, {1, 1000}));
  EXPECT_FALSE(find_minor_channels({logits}, {1000}));
}

TEST(MinorChannelsTest, RowsOfAnImageAreNoChannels) {
  std::vector<double> mask(32 * 32, 1e-4);
  std::fill(mask.begin(), mask.begin() + 32, 1.0);
  EXPECT_FALSE(find_minor_channels({mask}, {1, 1, 32, 32}));
}

TEST(MinorChannelsTest, EmptyAndInfiniteChannelsDoNotCount) {
  EXPECT_FALSE(find_minor_channels(detections(40, {5, 0, 4}), rows(40, 3)));
  EXPECT_FALSE(find_minor_channels(detections(40, {5, static_cast<double>(test::kInfinity), 4}), rows(40, 3)));
  EXPECT_FALSE(find_minor_channels({}, rows(40, 3)));
  EXPECT_FALSE(find_minor_channels({{}}, {1, 0, 5}));
}

}  // namespace
}  // namespace quarkq::compare
