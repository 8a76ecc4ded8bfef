// SPDX-License-Identifier: MIT
// Names of sample files, and the taps and pixels that resizing takes, against their definitions.
#include "calib/reader/file_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "calib/image/resize_image.h"

namespace quarkq::calib {
namespace {

TEST(FileFormatsTest, SuffixesSayTheFormat) {
  struct Row {
    const char *file, *kind, *found;
  };
  const Row rows[] = {
      {"a.npy", "", "npy"},
      {"a.NPY", "", ""},
      {"a.npz", "", "npz"},
      {"a.NPZ", "", "npz"},
      {"a.pb", "", "pb"},
      {"a.Pb", "", "pb"},
      {"a.bin", "", "raw"},
      {"a.raw", "", "raw"},
      {"a.DATA", "", "raw"},
      {"a.jpg", "", "image"},
      {"a.JPEG", "", "image"},
      {"a.Png", "", "image"},
      {"a.txt", "", ""},
      {"a", "", ""},
      {"", "", ""},
      {".npy", "", ""},
      {".jpg", "", ""},
      {"a.npy.txt", "", ""},
      {"a.b.npy", "", "npy"},
      {"a.npy", "npz", ""},
      {"a.npy", "npy", "npy"},
      {"a.png", "image", "image"},
      {"a.png", "raw", ""},
      {"a.bin", "raw", "raw"},
      {"anpy", "", ""},
      {"a.npyx", "", ""},
  };
  for (const Row& row : rows) {
    const FileFormat* format = format_of(row.file, row.kind);
    EXPECT_STREQ(format == nullptr ? "" : format->kind, row.found) << row.file << " as " << row.kind;
  }
}

TEST(FileFormatsTest, EverySuffixIsOfOneFormat) {
  std::set<std::string> seen;
  for (const FileFormat& format : file_formats()) {
    EXPECT_NE(format.read, nullptr);
    for (const std::string& suffix : format.suffixes) {
      EXPECT_TRUE(seen.insert(suffix).second) << suffix;
      EXPECT_EQ(suffix.front(), '.');
      EXPECT_EQ(format_of("x" + suffix, ""), &format);
      EXPECT_NE(suffixes_text("").find(suffix), std::string::npos);
      EXPECT_NE(suffixes_text(format.kind).find(suffix), std::string::npos);
    }
    EXPECT_TRUE(check_kind(format.kind).ok());
  }
  EXPECT_TRUE(check_kind("").ok());
  EXPECT_EQ(check_kind("jpeg").code(), Code::kInvalidArgument);
}

TEST(FileFormatsTest, NamesOfFilesAndInputs) {
  EXPECT_EQ(stem_of("a/b/c.npy"), "c");
  EXPECT_EQ(stem_of("c.tar.npy"), "c.tar");
  EXPECT_EQ(stem_of("c"), "c");
  EXPECT_EQ(file_spelling("a/b:0"), "a_b_0");
  EXPECT_EQ(file_spelling("plain"), "plain");
}

Resampling way(config::Interpolation interpolation, bool antialias) {
  Resampling resampling;
  resampling.interpolation = interpolation;
  resampling.antialias = antialias;
  return resampling;
}

TEST(FileFormatsTest, WeightsOfEveryPixelSumToOneAndStayInside) {
  for (const bool antialias : {false, true}) {
    for (const auto interpolation : {config::Interpolation::kBilinear, config::Interpolation::kBicubic}) {
      for (const int64_t in : {1, 2, 3, 7, 16, 100}) {
        for (const int64_t out : {1, 2, 5, 16, 33, 100}) {
          const Taps taps = make_taps(in, out, way(interpolation, antialias));
          ASSERT_EQ(taps.first.size(), static_cast<size_t>(out));
          for (size_t i = 0; i < static_cast<size_t>(out); ++i) {
            ASSERT_GE(taps.first[i], 0);
            ASSERT_GE(taps.count[i], 1);
            ASSERT_LE(taps.first[i] + taps.count[i], in);
            ASSERT_LE(taps.count[i], taps.stride);
            double sum = 0;
            for (int64_t t = 0; t < taps.count[i]; ++t)
              sum += taps.weights[i * static_cast<size_t>(taps.stride) + static_cast<size_t>(t)];
            ASSERT_NEAR(sum, 1, 1e-12) << in << " to " << out;
          }
        }
      }
    }
  }
}

TEST(FileFormatsTest, TheSameSizeCopiesAndMirroringMirrors) {
  for (const bool antialias : {false, true}) {
    for (const auto interpolation : {config::Interpolation::kBilinear, config::Interpolation::kBicubic}) {
      const Taps same = make_taps(9, 9, way(interpolation, antialias));
      for (size_t i = 0; i < 9; ++i) {
        for (int64_t t = 0; t < same.count[i]; ++t) {
          const double weight = same.weights[i * static_cast<size_t>(same.stride) + static_cast<size_t>(t)];
          EXPECT_NEAR(weight, same.first[i] + t == static_cast<int64_t>(i) ? 1 : 0, 1e-12);
        }
      }
      const Taps taps = make_taps(12, 7, way(interpolation, antialias));
      const auto weight = [&](size_t i, int64_t pixel) {
        const int64_t t = pixel - taps.first[i];
        return t < 0 || t >= taps.count[i]
                   ? 0
                   : taps.weights[i * static_cast<size_t>(taps.stride) + static_cast<size_t>(t)];
      };
      for (size_t i = 0; i < 7; ++i) {
        for (int64_t pixel = 0; pixel < 12; ++pixel)
          EXPECT_NEAR(weight(i, pixel), weight(6 - i, 11 - pixel), 1e-12) << i << " " << pixel;
      }
    }
  }
}

/// A linear picture stays linear away from the borders.
TEST(FileFormatsTest, BilinearKeepsALine) {
  const Taps taps = make_taps(10, 25, way(config::Interpolation::kBilinear, false));
  for (size_t i = 2; i < 23; ++i) {
    double value = 0;
    for (int64_t t = 0; t < taps.count[i]; ++t)
      value += taps.weights[i * static_cast<size_t>(taps.stride) + static_cast<size_t>(t)] *
               static_cast<double>(taps.first[i] + t);
    EXPECT_NEAR(value, (static_cast<double>(i) + 0.5) * 0.4 - 0.5, 1e-12);
  }
}

TEST(FileFormatsTest, NearestPixels) {
  EXPECT_EQ(nearest_pixels(4, 2, true), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(nearest_pixels(4, 2, false), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(nearest_pixels(2, 4, true), (std::vector<int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(nearest_pixels(2, 4, false), (std::vector<int64_t>{0, 0, 1, 1}));
  for (const int64_t in : {1, 3, 17, 224}) {
    for (const int64_t out : {1, 2, 9, 224, 500}) {
      for (const bool antialias : {false, true}) {
        const std::vector<int64_t> pixels = nearest_pixels(in, out, antialias);
        ASSERT_EQ(pixels.size(), static_cast<size_t>(out));
        for (size_t i = 0; i < pixels.size(); ++i) {
          ASSERT_GE(pixels[i], i == 0 ? 0 : pixels[i - 1]);
          ASSERT_LT(pixels[i], in);
        }
      }
    }
  }
}

}  // namespace
}  // namespace quarkq::calib
