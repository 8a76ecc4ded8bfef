// SPDX-License-Identifier: MIT
// Pictures of outputs: which tensors are images, how large they are kept, what a pixel shows.
#include "pipeline/report/details.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace quarkq::pipeline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

size_t elements_of(const ir::Shape& dims) { return static_cast<size_t>(ir::checked_count(dims)); }

/// What the report keeps of one output of these values.
ReportDetails kept(const ir::Shape& dims, const std::vector<double>& expected, const std::vector<double>& found) {
  const std::string sample = "s", output = "y";
  ReportDetails details;
  add_sample({sample, output, dims, expected, found, 0.5}, details);
  return details;
}

OutputPicture picture(const ir::Shape& dims, const std::vector<double>& expected, const std::vector<double>& found) {
  const ReportDetails details = kept(dims, expected, found);
  EXPECT_EQ(details.pictures.size(), 1u) << shape_text(dims);
  return details.pictures.empty() ? OutputPicture{} : details.pictures[0];
}

/// 0, 1, 2, ...
std::vector<double> counted(size_t count) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), 0.0);
  return values;
}

struct Shown {
  ir::Shape dims;
  bool is_image;
  size_t width = 0, height = 0, channels = 0;
};

class PicturesShapeTest : public ::testing::TestWithParam<Shown> {};
INSTANTIATE_TEST_SUITE_P(
    Shapes, PicturesShapeTest,
    ::testing::Values(Shown{{1, 3, 16, 20}, true, 20, 16, 3}, Shown{{1, 1, 16, 16}, true, 16, 16, 1},
                      Shown{{2, 16, 20, 3}, true, 20, 16, 3}, Shown{{1, 20, 16, 1}, true, 16, 20, 1},
                      Shown{{1, 3, 96, 96}, true, 96, 96, 3}, Shown{{1, 3, 192, 96}, true, 48, 96, 3},
                      Shown{{1, 1, 400, 100}, true, 24, 96, 1}, Shown{{1, 1, 16, 4000}, true, 96, 1, 1},
                      Shown{{1, 3, 15, 20}, false}, Shown{{1, 3, 20, 15}, false}, Shown{{1, 4, 20, 20}, false},
                      Shown{{3, 20, 20}, false}, Shown{{1, 2, 20, 20}, false}, Shown{{0, 3, 20, 20}, false}));

TEST_P(PicturesShapeTest, SmallSidesStayAndLongOnesShrink) {
  const Shown& shown = GetParam();
  SCOPED_TRACE(shape_text(shown.dims));
  const std::vector<double> values(elements_of(shown.dims), 0.25);
  const ReportDetails details = kept(shown.dims, values, values);
  ASSERT_EQ(details.samples.size(), 1u) << "how close it is, is kept of every output";
  EXPECT_EQ(details.samples[0].cosine, 0.5);
  ASSERT_EQ(details.pictures.size(), shown.is_image ? 1u : 0u);
  if (!shown.is_image) return;
  const OutputPicture& one = details.pictures[0];
  EXPECT_EQ(one.width, shown.width);
  EXPECT_EQ(one.height, shown.height);
  EXPECT_EQ(one.channels, shown.channels);
  EXPECT_EQ(one.expected.size(), shown.width * shown.height * shown.channels);
  EXPECT_EQ(one.found.size(), one.expected.size());
}

TEST(PicturesTest, BothAreScaledByTheRangeOfTheFloatOne) {
  std::vector<double> expected(256), found(256);
  for (size_t i = 0; i < 256; ++i) expected[i] = -1 + static_cast<double>(i) / 127.5;  // -1 to 1
  for (size_t i = 0; i < 256; ++i) found[i] = 2 * expected[i];
  const OutputPicture one = picture({1, 1, 16, 16}, expected, found);
  EXPECT_EQ(one.low, -1);
  EXPECT_EQ(one.high, 1);
  for (size_t i = 0; i < 256; ++i) {
    EXPECT_NEAR(one.expected[i], static_cast<double>(i), 1) << i;
    EXPECT_NEAR(one.found[i], std::clamp(2 * static_cast<double>(i) - 127.5, 0.0, 255.0), 1) << i;
  }
}

/// Channels of a pixel stand beside each other, whatever the layout of the tensor.
TEST(PicturesTest, LayoutsShowTheSame) {
  const size_t side = 16, plane = side * side;
  const std::vector<double> last = counted(3 * plane);
  std::vector<double> first(3 * plane);
  for (size_t pixel = 0; pixel < plane; ++pixel) {
    for (size_t c = 0; c < 3; ++c) first[c * plane + pixel] = last[3 * pixel + c];
  }
  const OutputPicture a = picture({1, 16, 16, 3}, last, last), b = picture({1, 3, 16, 16}, first, first);
  EXPECT_EQ(a.expected, b.expected);
  for (size_t i = 0; i < a.expected.size(); ++i)
    EXPECT_EQ(a.expected[i], static_cast<uint8_t>(255 * last[i] / last.back())) << i;
}

TEST(PicturesTest, ThinnedPixelsAreThoseOfTheImage) {
  std::vector<double> values(192 * 192);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 192);  // each column its number
  const OutputPicture one = picture({1, 1, 192, 192}, values, values);
  ASSERT_EQ(one.width, 96u);
  for (size_t x = 0; x < 96; ++x) {
    EXPECT_EQ(one.expected[x], static_cast<uint8_t>(255.0 * static_cast<double>(2 * x) / 191)) << x;
    EXPECT_EQ(one.expected[x], one.expected[95 * 96 + x]);
  }
}

TEST(PicturesTest, WhatIsNoNumberIsBlack) {
  std::vector<double> expected(256, 1), found(256, 1);
  expected[0] = 0;
  found[1] = kInfinity;
  found[2] = std::nan("");
  found[3] = -kInfinity;
  const OutputPicture one = picture({1, 1, 16, 16}, expected, found);
  EXPECT_EQ(one.expected[0], 0);
  EXPECT_EQ(one.expected[1], 255);
  for (const size_t i : {1u, 2u, 3u}) EXPECT_EQ(one.found[i], 0) << i;
  const OutputPicture flat = picture({1, 1, 16, 16}, std::vector<double>(256, 3), std::vector<double>(256, 3));
  EXPECT_EQ(flat.expected, std::vector<uint8_t>(256, 0)) << "one level only";
}

TEST(PicturesTest, ThreeOfAnOutputAreEnough) {
  const std::vector<double> values(256, 1);
  const ir::Shape dims = {1, 1, 16, 16};
  const std::string outputs[] = {"y", "z"};
  ReportDetails details;
  for (const std::string sample : {"a", "b", "c", "d", "e"}) {
    for (const std::string& output : outputs) add_sample({sample, output, dims, values, values, 1}, details);
  }
  EXPECT_EQ(details.samples.size(), 10u);
  ASSERT_EQ(details.pictures.size(), 6u);
  EXPECT_EQ(details.pictures.back().sample, "c");
  EXPECT_EQ(details.pictures.back().output, "z");
}

TEST(PicturesTest, JsonHoldsPixelsAsDigits) {
  OutputPicture one{"s", "y", 2, 1, 1, -kInfinity, 1.5, {0, 255}, {16, 171}};
  const Json rows = pictures_json({one});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["float"], "00ff");
  EXPECT_EQ(rows[0]["quantized"], "10ab");
  EXPECT_EQ(rows[0]["high"], 1.5);
  EXPECT_FALSE(rows[0]["low"].is_number()) << "JSON has no infinity";
  EXPECT_EQ(pictures_json({}).dump(), "[]");
  EXPECT_EQ(samples_json({{"s", "y", 0.25}}).dump(), R"([{"sample":"s","output":"y","cosine":0.25}])");
}

}  // namespace
}  // namespace quarkq::pipeline
