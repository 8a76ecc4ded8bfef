// SPDX-License-Identifier: MIT
// Average precision: numbers that COCO's own tool gave for the same detections (coco_scenes.json), and cases by hand.
#include "metrics/detect/detections.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace quarkq::metrics {
namespace {

const std::string kScenes = std::string(QUARKQ_SOURCE_DIR) + "/tests/unit/metrics/coco_scenes.json";

TEST(AveragePrecisionTest, EqualsCocosTool) {
  const BoxTruth truth = read_coco(kScenes).value();
  std::ifstream file(kScenes);
  const auto json = nlohmann::json::parse(file);
  std::vector<std::vector<Detection>> found(truth.images.size());
  for (const auto& row : json["detections"]) {
    const size_t image = (row[0].get<size_t>() - 2) / 5;  // how the ids of the scenes are numbered
    const double x = row[2], y = row[3];
    const auto category = std::ranges::find(truth.categories, row[1].get<int64_t>()) - truth.categories.begin();
    found[image].push_back(
        {{x, y, x + row[4].get<double>(), y + row[5].get<double>()}, row[6], static_cast<size_t>(category)});
  }
  AveragePrecision precision(truth.categories.size());
  for (size_t i = truth.images.size(); i-- > 0;) precision.add(i, truth.images[i].boxes, found[i]);  // any order
  EXPECT_NEAR(precision.mean(), json["recorded"]["map"].get<double>(), 1e-9);
  EXPECT_NEAR(precision.mean(0, 1), json["recorded"]["map50"].get<double>(), 1e-9);
  EXPECT_NEAR(precision.mean(5, 6), json["recorded"]["map75"].get<double>(), 1e-9);
}

TEST(AveragePrecisionTest, PrecisionIsThatOf101Recalls) {
  AveragePrecision precision(1);
  precision.add(0, {{{0, 0, 10, 10}, 0, 100}, {{20, 20, 30, 30}, 0, 100}},
                {{{0, 0, 10, 10}, 0.9}, {{50, 50, 60, 60}, 0.8}, {{20, 20, 30, 30}, 0.7}});
  EXPECT_NEAR(precision.mean(), (51 + 50 * 2.0 / 3) / 101, 1e-12);
}

TEST(AveragePrecisionTest, NoObjectsIsNoNumber) {
  AveragePrecision precision(2);
  precision.add(0, {}, {{{0, 0, 1, 1}, 0.5}});
  EXPECT_TRUE(std::isnan(precision.mean()));
}

TEST(AveragePrecisionTest, ACrowdCountsNeitherWay) {
  AveragePrecision precision(1);
  precision.add(0, {{{0, 0, 10, 10}, 0, 100}, {{0, 20, 100, 100}, 0, 8000, true}},
                {{{0, 30, 9, 39}, 0.9}, {{50, 50, 60, 60}, 0.8}, {{0, 0, 10, 10}, 0.7}});
  EXPECT_NEAR(precision.mean(), 1, 1e-12);
}

TEST(AveragePrecisionTest, AnObjectIsFoundOnce) {
  AveragePrecision precision(1);
  precision.add(0, {{{0, 0, 10, 10}, 0, 100}, {{40, 0, 50, 10}, 0, 100}},
                {{{0, 0, 10, 10}, 0.9}, {{0, 0, 10, 10}, 0.8}, {{40, 0, 50, 10}, 0.7}});
  EXPECT_NEAR(precision.mean(), (51 + 50 * 2.0 / 3) / 101, 1e-12);
}

TEST(OverlapTest, IsIntersectionOverUnion) {
  EXPECT_DOUBLE_EQ(overlap({0, 0, 10, 10}, {5, 0, 15, 10}), 50.0 / 150);
  EXPECT_DOUBLE_EQ(overlap({0, 0, 10, 10}, {0, 0, 100, 100}, /*is_crowd=*/true), 1);
  EXPECT_EQ(overlap({0, 0, 10, 10}, {10, 0, 20, 10}), 0);
  EXPECT_EQ(overlap({5, 5, 5, 5}, {5, 5, 5, 5}), 0);
  EXPECT_EQ(overlap({NAN, 0, 10, 10}, {0, 0, 10, 10}), 0);
}

TEST(SuppressTest, KeepsTheBestOfEachClass) {
  const std::vector<Detection> found = {
      {{0, 0, 10, 10}, 0.5, 0}, {{0, 0, 10, 9}, 0.9, 0}, {{0, 0, 10, 10}, 0.4, 1}, {{0, 8, 10, 18}, 0.3, 0}};
  const std::vector<Detection> kept = suppress(found, 0.65);
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0].score, 0.9);
  EXPECT_EQ(kept[1].category, 1u);
  EXPECT_EQ(kept[2].score, 0.3);
}

TEST(SuppressTest, OnlyMoreOverlapHides) {
  const std::vector<Detection> found = {{{0, 0, 10, 10}, 0.9, 0}, {{0, 0, 10, 5}, 0.8, 0}};
  EXPECT_EQ(suppress(found, 0.5).size(), 2u);
  EXPECT_EQ(suppress(found, 0.499).size(), 1u);
}

TEST(SuppressTest, KeepsThreeHundred) {
  std::vector<Detection> found;
  found.reserve(400);
  for (int i = 0; i < 400; ++i) found.push_back({{20.0 * i, 0, 20.0 * i + 10, 10}, 0.001 * (i + 1), 0});
  const std::vector<Detection> kept = suppress(found, 0.5);
  ASSERT_EQ(kept.size(), 300u);
  EXPECT_EQ(kept[0].score, 0.4);
  EXPECT_TRUE(suppress({}, 0.5).empty());
}

}  // namespace
}  // namespace quarkq::metrics
