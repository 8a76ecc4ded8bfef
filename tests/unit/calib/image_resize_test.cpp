// SPDX-License-Identifier: MIT
// Resizing against recorded results of Pillow 12.3 (bit for bit) and OpenCV 5.0 (within one step).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "calib/image/resize_image.h"
#include "calib/image/resize_loops.h"
#include "support/every_isa.h"
#include "unit/calib/image_files.h"

namespace quarkq::calib {
namespace {

using config::Interpolation;
using test_image::pattern;

uint64_t fnv1a(const std::vector<uint8_t>& bytes) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001B3;
  return hash;
}

struct Recorded {
  int64_t from[3];  ///< height, width, channels of the pattern
  int64_t height, width;
  Interpolation interpolation;
  uint64_t hash;
};

const Recorded kPillow[] = {
    {{7, 13, 3}, 3, 5, Interpolation::kNearest, 0x25C37D7E2F4AEE8AULL},
    {{7, 13, 3}, 3, 5, Interpolation::kBilinear, 0xE50C14C99F92B4EFULL},
    {{7, 13, 3}, 3, 5, Interpolation::kBicubic, 0xF9AE125019AEE76CULL},
    {{7, 13, 3}, 20, 29, Interpolation::kNearest, 0xFE9E668152025449ULL},
    {{7, 13, 3}, 20, 29, Interpolation::kBilinear, 0xE85C1AB1520DB6F5ULL},
    {{7, 13, 3}, 20, 29, Interpolation::kBicubic, 0xD910D84ADBB1E3FDULL},
    {{7, 13, 3}, 7, 6, Interpolation::kNearest, 0x9F3A519B2B9A7967ULL},
    {{7, 13, 3}, 7, 6, Interpolation::kBilinear, 0x5B78FDECD8F560A5ULL},
    {{7, 13, 3}, 7, 6, Interpolation::kBicubic, 0xADB1522C4C07A3CDULL},
    {{7, 13, 3}, 1, 1, Interpolation::kNearest, 0x36764219C27DE004ULL},
    {{7, 13, 3}, 1, 1, Interpolation::kBilinear, 0xC53E2C198230415EULL},
    {{7, 13, 3}, 1, 1, Interpolation::kBicubic, 0xC53E2C198230415EULL},
    {{13, 7, 1}, 3, 5, Interpolation::kNearest, 0x4B17068B8DA65EF7ULL},
    {{13, 7, 1}, 3, 5, Interpolation::kBilinear, 0xF843A24313F446BFULL},
    {{13, 7, 1}, 3, 5, Interpolation::kBicubic, 0x0143F6552BBF47D4ULL},
    {{13, 7, 1}, 20, 29, Interpolation::kNearest, 0xEEC35A5EE7C31B09ULL},
    {{13, 7, 1}, 20, 29, Interpolation::kBilinear, 0x845B14A604A5CB21ULL},
    {{13, 7, 1}, 20, 29, Interpolation::kBicubic, 0x0154D0CADCAEB083ULL},
    {{13, 7, 1}, 7, 6, Interpolation::kNearest, 0x43C6B3297E338DB5ULL},
    {{13, 7, 1}, 7, 6, Interpolation::kBilinear, 0x19CA8750DC64E97CULL},
    {{13, 7, 1}, 7, 6, Interpolation::kBicubic, 0x843E7D5CDC50BC64ULL},
    {{13, 7, 1}, 1, 1, Interpolation::kNearest, 0xAF644D4C8602AC8FULL},
    {{13, 7, 1}, 1, 1, Interpolation::kBilinear, 0xAF63F54C86021707ULL},
    {{13, 7, 1}, 1, 1, Interpolation::kBicubic, 0xAF63F44C86021554ULL},
    {{40, 31, 3}, 3, 5, Interpolation::kNearest, 0x7FFA67FEA97B7AB9ULL},
    {{40, 31, 3}, 3, 5, Interpolation::kBilinear, 0xF84B3FC955106697ULL},
    {{40, 31, 3}, 3, 5, Interpolation::kBicubic, 0xF411A7BDC35DC0F1ULL},
    {{40, 31, 3}, 20, 29, Interpolation::kNearest, 0x1FF59A39770AEC85ULL},
    {{40, 31, 3}, 20, 29, Interpolation::kBilinear, 0x2B22EE54D2B430DCULL},
    {{40, 31, 3}, 20, 29, Interpolation::kBicubic, 0x42203A95215791EBULL},
    {{40, 31, 3}, 7, 6, Interpolation::kNearest, 0xB1DDD847E8655565ULL},
    {{40, 31, 3}, 7, 6, Interpolation::kBilinear, 0x4BC76253F963DC50ULL},
    {{40, 31, 3}, 7, 6, Interpolation::kBicubic, 0xBB6C7BE2B60B9F98ULL},
    {{40, 31, 3}, 1, 1, Interpolation::kNearest, 0xE3C1821A24A96668ULL},
    {{40, 31, 3}, 1, 1, Interpolation::kBilinear, 0xA327FA196F0B3B06ULL},
    {{40, 31, 3}, 1, 1, Interpolation::kBicubic, 0xA327FA196F0B3B06ULL},
    {{9, 11, 4}, 3, 5, Interpolation::kNearest, 0x819D2AEDDB3A9535ULL},
    {{9, 11, 4}, 3, 5, Interpolation::kBilinear, 0xC6736314E9C12476ULL},
    {{9, 11, 4}, 3, 5, Interpolation::kBicubic, 0xAEB4EAA51A49FB49ULL},
    {{9, 11, 4}, 20, 29, Interpolation::kNearest, 0x12AE2CED7443DAD5ULL},
    {{9, 11, 4}, 20, 29, Interpolation::kBilinear, 0x569C13589A078974ULL},
    {{9, 11, 4}, 20, 29, Interpolation::kBicubic, 0x560717BCBCF9ED5EULL},
    {{9, 11, 4}, 7, 6, Interpolation::kNearest, 0xD49C7CDAF174F875ULL},
    {{9, 11, 4}, 7, 6, Interpolation::kBilinear, 0xF0BF46165341D466ULL},
    {{9, 11, 4}, 7, 6, Interpolation::kBicubic, 0x39AB54D7A0B049FCULL},
    {{9, 11, 4}, 1, 1, Interpolation::kNearest, 0x7D224A2A3A40B621ULL},
    {{9, 11, 4}, 1, 1, Interpolation::kBilinear, 0x863E54204691D897ULL},
    {{9, 11, 4}, 1, 1, Interpolation::kBicubic, 0x6CB2CE20383A739EULL},
    {{1, 1, 3}, 3, 5, Interpolation::kNearest, 0xF186A01D15E86B60ULL},
    {{1, 1, 3}, 3, 5, Interpolation::kBilinear, 0xF186A01D15E86B60ULL},
    {{1, 1, 3}, 3, 5, Interpolation::kBicubic, 0xF186A01D15E86B60ULL},
    {{1, 1, 3}, 20, 29, Interpolation::kNearest, 0x102B82E723C85541ULL},
    {{1, 1, 3}, 20, 29, Interpolation::kBilinear, 0x102B82E723C85541ULL},
    {{1, 1, 3}, 20, 29, Interpolation::kBicubic, 0x102B82E723C85541ULL},
    {{1, 1, 3}, 7, 6, Interpolation::kNearest, 0xB1C03B516BF9D9D7ULL},
    {{1, 1, 3}, 7, 6, Interpolation::kBilinear, 0xB1C03B516BF9D9D7ULL},
    {{1, 1, 3}, 7, 6, Interpolation::kBicubic, 0xB1C03B516BF9D9D7ULL},
    {{1, 1, 3}, 1, 1, Interpolation::kNearest, 0xD8187E186B0997CEULL},
    {{1, 1, 3}, 1, 1, Interpolation::kBilinear, 0xD8187E186B0997CEULL},
    {{1, 1, 3}, 1, 1, Interpolation::kBicubic, 0xD8187E186B0997CEULL},
    {{301, 2, 1}, 3, 5, Interpolation::kNearest, 0x5E2BD1C946E4017BULL},
    {{301, 2, 1}, 3, 5, Interpolation::kBilinear, 0xDD84E4E670D07B98ULL},
    {{301, 2, 1}, 3, 5, Interpolation::kBicubic, 0xDD84E4E670D07B98ULL},
    {{301, 2, 1}, 20, 29, Interpolation::kNearest, 0x5EC025C7AC6DF961ULL},
    {{301, 2, 1}, 20, 29, Interpolation::kBilinear, 0xB965B4D4CF3AE13AULL},
    {{301, 2, 1}, 20, 29, Interpolation::kBicubic, 0x2B8A7A6F2D81B331ULL},
    {{301, 2, 1}, 7, 6, Interpolation::kNearest, 0xDBABBC2368964135ULL},
    {{301, 2, 1}, 7, 6, Interpolation::kBilinear, 0x35DFDF598EDAEA6AULL},
    {{301, 2, 1}, 7, 6, Interpolation::kBicubic, 0x10463E7457477E52ULL},
    {{301, 2, 1}, 1, 1, Interpolation::kNearest, 0xAF63F14C8602103BULL},
    {{301, 2, 1}, 1, 1, Interpolation::kBilinear, 0xAF63F34C860213A1ULL},
    {{301, 2, 1}, 1, 1, Interpolation::kBicubic, 0xAF63F34C860213A1ULL},
};
TEST(ImageResizeTest, EqualsPillowBitForBit) {
  for (const Recorded& row : kPillow) {
    const Image image = pattern(row.from[0], row.from[1], row.from[2]);
    ASSERT_TRUE(can_resize(image, row.height, row.width));
    const Image resized = resize_image(image, row.height, row.width, {row.interpolation, /*antialias=*/true});
    EXPECT_EQ(resized.height, row.height);
    EXPECT_EQ(resized.width, row.width);
    EXPECT_EQ(resized.channels, row.from[2]);
    EXPECT_EQ(fnv1a(resized.pixels), row.hash)
        << row.from[0] << "x" << row.from[1] << "x" << row.from[2] << " to " << row.height << "x" << row.width
        << " by interpolation " << static_cast<int>(row.interpolation);
  }
}

TEST(ImageResizeTest, ShowsPillowsValues) {
  const Image image = pattern(7, 13, 1);
  const std::vector<uint8_t> nearest = {103, 217, 158, 47, 161, 5, 95, 78, 61, 151, 163, 77, 254, 75, 245};
  const std::vector<uint8_t> bilinear = {109, 146, 132, 127, 139, 114, 122, 125, 113, 118, 95, 103, 128, 123, 157};
  const std::vector<uint8_t> bicubic = {106, 150, 130, 124, 143, 119, 122, 127, 114, 115, 91, 102, 126, 121, 159};
  EXPECT_EQ(resize_image(image, 3, 5, {Interpolation::kNearest, true}).pixels, nearest);
  EXPECT_EQ(resize_image(image, 3, 5, {Interpolation::kBilinear, true}).pixels, bilinear);
  EXPECT_EQ(resize_image(image, 3, 5, {Interpolation::kBicubic, true}).pixels, bicubic);
}

struct OpenCv {
  Interpolation interpolation;
  int64_t height, width;
  int step;  ///< largest difference allowed
  std::vector<uint8_t> pixels;
};

const OpenCv kOpenCv[] = {
    {Interpolation::kNearest, 3, 5, 0, {0, 100, 250, 94, 244, 144, 220, 208, 28, 220, 32, 188, 62, 218, 44}},
    {Interpolation::kNearest, 8, 16, 0, {0,   0,   50,  100, 150, 200, 200, 250, 44,  94,  144, 144, 194, 244, 38,
                                         88,  0,   0,   50,  100, 150, 200, 200, 250, 44,  94,  144, 144, 194, 244,
                                         38,  88,  72,  72,  103, 186, 217, 44,  44,  75,  158, 189, 16,  16,  47,
                                         130, 161, 244, 144, 144, 208, 220, 28,  144, 144, 208, 220, 28,  144, 144,
                                         208, 220, 28,  144, 216, 216, 5,   50,  95,  244, 244, 33,  78,  123, 16,
                                         16,  61,  106, 151, 44,  32,  32,  110, 188, 10,  240, 240, 62,  140, 218,
                                         144, 144, 222, 44,  122, 96,  104, 104, 163, 18,  77,  84,  84,  143, 254,
                                         57,  16,  16,  75,  186, 245, 252, 176, 176, 12,  52,  144, 184, 184, 20,
                                         60,  152, 144, 144, 236, 20,  112, 152}},
    {Interpolation::kBilinear, 3, 5, 1, {78, 155, 120, 81, 134, 47, 155, 78, 43, 130, 116, 106, 189, 101, 204}},
    {Interpolation::kBilinear, 8, 16, 1, {0,   36,  77,  117, 158, 198, 239, 127, 64,  105, 145, 186, 227, 147, 52,
                                          88,  59,  83,  134, 182, 184, 77,  100, 125, 151, 142, 41,  69,  125, 145,
                                          160, 215, 122, 160, 193, 167, 91,  112, 155, 187, 151, 84,  106, 149, 180,
                                          134, 99,  175, 185, 119, 110, 104, 87,  196, 129, 128, 116, 79,  74,  117,
                                          145, 128, 95,  88,  136, 75,  83,  92,  87,  236, 89,  81,  129, 144, 74,
                                          122, 97,  106, 118, 67,  55,  106, 131, 99,  56,  186, 110, 140, 172, 154,
                                          106, 165, 118, 122, 156, 145, 118, 130, 76,  47,  91,  102, 116, 178, 160,
                                          67,  42,  95,  138, 185, 224, 233, 176, 58,  33,  83,  150, 183, 56,  44,
                                          97,  150, 147, 222, 94,  63,  123, 152}},
    {Interpolation::kBicubic, 3, 5, 1, {61, 169, 115, 44, 147, 38, 173, 78, 31, 136, 134, 112, 206, 77, 227}},
    {Interpolation::kBicubic, 8, 16, 1, {0,   29,  73,  115, 159, 204, 255, 124, 32,  105, 152, 190, 255, 149, 22,
                                         84,  52,  67,  127, 205, 206, 64,  76,  113, 172, 161, 22,  42,  113, 148,
                                         174, 232, 114, 177, 242, 185, 67,  93,  159, 229, 164, 61,  117, 161, 209,
                                         126, 78,  200, 217, 119, 96,  88,  77,  208, 136, 131, 108, 52,  69,  110,
                                         165, 139, 77,  73,  145, 45,  62,  88,  87,  255, 68,  28,  138, 173, 67,
                                         123, 73,  97,  125, 38,  22,  114, 172, 99,  30,  187, 109, 147, 199, 161,
                                         115, 186, 116, 112, 167, 152, 121, 153, 64,  21,  100, 85,  111, 214, 177,
                                         32,  26,  72,  141, 208, 245, 251, 189, 45,  7,   87,  163, 191, 46,  13,
                                         98,  162, 152, 249, 83,  30,  127, 150}},
};

TEST(ImageResizeTest, WithoutAntialiasIsWithinOneStepOfOpenCv) {
  const Image image = pattern(7, 13, 1);
  for (const OpenCv& row : kOpenCv) {
    const Image resized = resize_image(image, row.height, row.width, {row.interpolation, /*antialias=*/false});
    ASSERT_EQ(resized.pixels.size(), row.pixels.size());
    for (size_t i = 0; i < row.pixels.size(); ++i) {
      EXPECT_LE(std::abs(int{resized.pixels[i]} - int{row.pixels[i]}), row.step)
          << "pixel " << i << " by interpolation " << static_cast<int>(row.interpolation);
    }
  }
}

TEST(ImageResizeTest, SameSizeChangesNothing) {
  const Image image = pattern(6, 5, 4);
  for (const bool antialias : {true, false}) {
    EXPECT_EQ(resize_image(image, 6, 5, {Interpolation::kBicubic, antialias}).pixels, image.pixels);
  }
}

TEST(ImageResizeTest, OnePixelFillsAnySize) {
  const Image image{1, 1, 3, {10, 20, 30}};
  for (const auto interpolation : {Interpolation::kNearest, Interpolation::kBilinear, Interpolation::kBicubic}) {
    for (const bool antialias : {true, false}) {
      const Image resized = resize_image(image, 3, 4, {interpolation, antialias});
      for (size_t i = 0; i < 36; ++i) EXPECT_EQ(resized.pixels[i], 10 * (i % 3 + 1));
    }
  }
}

TEST(ImageResizeTest, RefusesMorePixelsThanTheLimit) {
  const Image image = pattern(2, 3, 1);
  EXPECT_TRUE(can_resize(image, 16384, 16384));
  EXPECT_FALSE(can_resize(image, 16385, 16384));
  Image tall;  // only the sizes are read
  tall.height = int64_t{1} << 24;
  tall.width = 1;
  EXPECT_TRUE(can_resize(tall, 4, 16));
  EXPECT_FALSE(can_resize(tall, 4, 17));
}

template <typename Loop>
void check_resize_row(Loop loop) {
  const std::vector<uint8_t> row = {0, 255, 7, 9, 100, 200, 31, 77, 128, 5, 6, 8};
  const std::vector<int32_t> first = {0, 1}, count = {2, 2};
  const int32_t one = 1 << kWeightBits;
  const std::vector<int32_t> weights = {one / 2, one / 2, 2 * one, -one};
  for (const int64_t channels : {1, 3, 4}) {
    const FixedTaps taps{first.data(), count.data(), weights.data(), 2, 2};
    std::vector<uint8_t> out(static_cast<size_t>(2 * channels));
    loop(row.data(), taps, channels, out.data());
    for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
      const auto n = static_cast<size_t>(channels);
      EXPECT_EQ(out[c], (row[c] + row[c + n] + 1) / 2);
      EXPECT_EQ(out[c + n], std::clamp(2 * row[c + n] - row[c + 2 * n], 0, 255));
    }
  }
}

template <typename Loop>
void check_blend_rows(Loop loop) {
  for (const int64_t bytes : test::kLengths) {
    std::vector<uint8_t> rows(static_cast<size_t>(3 * bytes)), out(static_cast<size_t>(bytes) + 1, 0xAB);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint8_t>(i * 89 + (i >> 3));
    const std::vector<int32_t> weights = {3 << 20, -(1 << 21), 3 << 20};  // 0.75, -0.5, 0.75
    loop(rows.data(), bytes, weights.data(), 3, out.data());
    for (size_t i = 0; i < static_cast<size_t>(bytes); ++i) {
      const auto n = static_cast<size_t>(bytes);
      const int quarters = 3 * rows[i] - 2 * rows[i + n] + 3 * rows[i + 2 * n];
      EXPECT_EQ(out[i], std::clamp((quarters + 2) >> 2, 0, 255));
    }
    EXPECT_EQ(out.back(), 0xAB);
  }
}

TEST(ImageResizeTest, LoopsAgreeOnEveryInstructionSet) {
  QQ_ON_EVERY_ISA(resize_row, check_resize_row);
  QQ_ON_EVERY_ISA(blend_rows, check_blend_rows);
}

}  // namespace
}  // namespace quarkq::calib
