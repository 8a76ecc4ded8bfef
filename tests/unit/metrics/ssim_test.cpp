// SPDX-License-Identifier: MIT
// The windowed similarity against the definition written out pixel by pixel.
#include "metrics/array_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace quarkq::metrics {
namespace {

std::vector<double> random_values(size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> distribution(0, 255);
  std::vector<double> values(count);
  for (double& value : values) value = distribution(generator);
  return values;
}

int64_t mirrored(int64_t i, int64_t n) {
  const int64_t period = n == 1 ? 1 : 2 * (n - 1);
  i = ((i % period) + period) % period;
  return i < n ? i : period - i;
}

/// One image [h, w], the whole window at once with central moments as sums of squared differences.
double slow_ssim(const std::vector<double>& a, const std::vector<double>& b, int64_t h, int64_t w) {
  double norm = 0, total = 0;
  for (int i = -5; i <= 5; ++i) norm += std::exp(-i * i / 4.5);
  for (int64_t y = 0; y < h; ++y) {
    for (int64_t x = 0; x < w; ++x) {
      const auto over_window = [&](auto f) {
        double sum = 0;
        for (int i = -5; i <= 5; ++i) {
          for (int j = -5; j <= 5; ++j) {
            const auto at = static_cast<size_t>(mirrored(y + i, h) * w + mirrored(x + j, w));
            sum += std::exp(-(i * i + j * j) / 4.5) / (norm * norm) * f(a[at], b[at]);
          }
        }
        return sum;
      };
      const double ma = over_window([](double p, double) { return p; }),
                   mb = over_window([](double, double q) { return q; });
      const double va = over_window([&](double p, double) { return (p - ma) * (p - ma); });
      const double vb = over_window([&](double, double q) { return (q - mb) * (q - mb); });
      const double cov = over_window([&](double p, double q) { return (p - ma) * (q - mb); });
      total += (2 * ma * mb + 6.5025) * (2 * cov + 58.5225) / ((ma * ma + mb * mb + 6.5025) * (va + vb + 58.5225));
    }
  }
  return total / static_cast<double>(h * w);
}

TEST(SsimTest, IsTheDefinition) {
  for (const auto& [h, w] :
       {std::pair<int64_t, int64_t>{13, 17}, {1, 9}, {9, 1}, {1, 1}, {2, 3}, {5, 12}, {12, 1030}, {1, 2050}}) {
    const std::vector<double> a = random_values(static_cast<size_t>(h * w), 1),
                              b = random_values(static_cast<size_t>(h * w), 2);
    EXPECT_NEAR(ssim(a, b, split_images({h, w}), WindowMoments::kCentral), slow_ssim(a, b, h, w), 1e-9)
        << h << " x " << w;
  }
}

TEST(SsimTest, ChannelsLastIsTheMeanOverChannels) {
  const std::vector<double> a = random_values(6 * 7 * 3, 3), b = random_values(6 * 7 * 3, 4);
  double mean = 0;
  for (size_t c = 0; c < 3; ++c) {
    std::vector<double> one_a, one_b;
    for (size_t i = c; i < a.size(); i += 3) one_a.push_back(a[i]), one_b.push_back(b[i]);
    mean += slow_ssim(one_a, one_b, 6, 7) / 3;
  }
  EXPECT_NEAR(ssim(a, b, split_images({6, 7, 3}), WindowMoments::kCentral), mean, 1e-9);
}

TEST(SsimTest, FromRankFourTheLastTwoDimensionsAreImages) {
  const std::vector<double> a = random_values(2 * 3 * 4 * 5, 5), b = random_values(2 * 3 * 4 * 5, 6);
  double mean = 0;
  for (size_t i = 0; i < 6; ++i) {
    const auto part = [&](const std::vector<double>& v) {
      return std::vector<double>(v.begin() + static_cast<long>(i * 20), v.begin() + static_cast<long>(i * 20 + 20));
    };
    mean += slow_ssim(part(a), part(b), 4, 5) / 6;
  }
  EXPECT_NEAR(ssim(a, b, split_images({2, 3, 4, 5}), WindowMoments::kCentral), mean, 1e-9);
  EXPECT_EQ(split_images({1, 2, 3, 4, 5}).images, 6);
}

TEST(SsimTest, SplitsLowRanksIntoOneImage) {
  EXPECT_EQ(split_images({}).width, 1);
  EXPECT_EQ(split_images({9}).width, 9);
  EXPECT_EQ(split_images({9}).height, 1);
  EXPECT_EQ(split_images({4, 9}).height, 4);
  EXPECT_EQ(split_images({4, 9}).images, 1);
}

TEST(SsimTest, ValuesFarFromZeroKeepTheirDigits) {
  const std::vector<double> low(400, 1e8), high(400, 1e8 + 1);
  EXPECT_NEAR(ssim(low, high, split_images({20, 20}), WindowMoments::kCentral), 1.0, 1e-9);
  std::vector<double> a = random_values(400, 9), b = random_values(400, 10);
  for (double& value : a) value += 1e8;
  for (double& value : b) value += 1e8;
  // Windows whose luminance term is 1: what is left compares textures. slow_ssim() takes the means first.
  EXPECT_NEAR(ssim(a, b, split_images({20, 20}), WindowMoments::kCentral), slow_ssim(a, b, 20, 20), 1e-6);
}

TEST(SsimTest, IsNeverAboveOne) {
  std::vector<double> ramp, shifted;
  for (int i = 0; i < 400; ++i) {
    ramp.push_back(1e9 * i);
    shifted.push_back(1e9 * i + 1);
  }
  EXPECT_LE(ssim(ramp, shifted, split_images({20, 20}), WindowMoments::kCentral), 1.0);
  EXPECT_LE(ssim(ramp, ramp, split_images({1, 400}), WindowMoments::kCentral), 1.0);
}

TEST(SsimTest, EqualImagesAreOneAndNoiseIsLess) {
  const std::vector<double> a = random_values(400, 7), b = random_values(400, 8);
  for (const WindowMoments moments : {WindowMoments::kCentral, WindowMoments::kRaw}) {
    EXPECT_NEAR(ssim(a, a, split_images({20, 20}), moments), 1.0, 1e-9);
  }
  EXPECT_LT(ssim(a, b, split_images({20, 20}), WindowMoments::kCentral), 0.2);
}

}  // namespace
}  // namespace quarkq::metrics
