// SPDX-License-Identifier: MIT
// Decoding: JPEG against Pillow's pixels, every kind of PNG, and files with false headers.
#include <gtest/gtest.h>

#include <cstdlib>

#include "calib/image/decode_image.h"
#include "calib/image/image_formats.h"
#include "unit/base/temp_folder.h"
#include "unit/calib/image_files.h"

namespace quarkq::calib {
namespace {

using namespace test_image;  // NOLINT(google-build-using-namespace): the files of this test

Result<Image> parsed_image(const std::string& bytes, int64_t channels = 3) {
  return parse_image(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), "t.jpg", channels);
}

void expect_row(const Image& image, int64_t y, int64_t x, const std::vector<int>& values, int step) {
  const auto start = static_cast<size_t>((y * image.width + x) * image.channels);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_LE(std::abs(image.pixels[start + i] - values[i]), step) << "row " << y << " value " << i;
  }
}

TEST(ImageDecodeTest, JpegIsWithinTwoStepsOfPillow) {
  for (const std::string& file : {kJpeg, kProgressiveJpeg}) {
    const Result<Image> image = parsed_image(file);
    ASSERT_TRUE(image.ok()) << image.status().message();
    EXPECT_EQ(image.value().height, 24);
    EXPECT_EQ(image.value().width, 20);
    expect_row(image.value(), 0, 0, {0, 4, 2, 0, 6, 6, 16, 7, 12, 28, 5, 15, 41, 2, 20, 54, 0, 23}, 2);
    expect_row(image.value(), 13, 16, {197, 128, 147, 208, 130, 154, 214, 134, 159, 219, 136, 162}, 2);
    expect_row(image.value(), 23, 0, {7, 224, 119, 16, 227, 124, 29, 227, 129, 43, 226, 133}, 2);
  }
}

TEST(ImageDecodeTest, GreyJpegHasOneOrThreeChannels) {
  const Result<Image> grey = parsed_image(kGreyJpeg, 1), rgb = parsed_image(kGreyJpeg, 3);
  ASSERT_TRUE(grey.ok() && rgb.ok());
  expect_row(grey.value(), 0, 0, {2, 10, 23, 36, 48, 61, 74, 82, 98, 106, 119, 132, 144, 157, 170, 178}, 1);
  ASSERT_EQ(rgb.value().pixels.size(), 3 * grey.value().pixels.size());
  for (size_t i = 0; i < rgb.value().pixels.size(); ++i) {
    ASSERT_EQ(rgb.value().pixels[i], grey.value().pixels[i / 3]);
  }
}

TEST(ImageDecodeTest, PngComesBackExactly) {
  for (const int64_t channels : {1, 3, 4}) {
    const Image image = pattern(5, 9, channels);
    const Result<Image> read = parsed_image(png_of(image), channels);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read.value().pixels, image.pixels);
    EXPECT_EQ(read.value().width, 9);
  }
}

TEST(ImageDecodeTest, ChannelsAreAddedAndDropped) {
  const std::string rgb = png_of({1, 2, 3, {10, 200, 30, 255, 0, 0}});
  EXPECT_EQ(parsed_image(rgb, 4).value().pixels, (std::vector<uint8_t>{10, 200, 30, 255, 255, 0, 0, 255}));
  EXPECT_EQ(parsed_image(rgb, 1).value().pixels, (std::vector<uint8_t>{124, 76}));  // Pillow's convert("L")
  const std::string rgba = png_of({1, 2, 4, {10, 20, 30, 0, 40, 50, 60, 128}});
  EXPECT_EQ(parsed_image(rgba, 3).value().pixels, (std::vector<uint8_t>{10, 20, 30, 40, 50, 60}));
  const std::string grey_alpha = png({2, 1, 8, 4}, std::string("\0\x11\x22\x33\x44", 5));
  EXPECT_EQ(parsed_image(grey_alpha, 4).value().pixels,
            (std::vector<uint8_t>{0x11, 0x11, 0x11, 0x22, 0x33, 0x33, 0x33, 0x44}));
}

TEST(ImageDecodeTest, OtherDepthsBecomeEightBits) {
  const std::string sixteen = png({1, 1, 16, 2}, std::string("\0\x12\xFF\x34\x00\xFE\x80", 7));
  EXPECT_EQ(parsed_image(sixteen).value().pixels, (std::vector<uint8_t>{0x12, 0x34, 0xFE}));
  const std::string one_bit = png({3, 1, 1, 0}, std::string("\0\xA0", 2));
  EXPECT_EQ(parsed_image(one_bit, 1).value().pixels, (std::vector<uint8_t>{255, 0, 255}));
  const std::string palette =
      png({2, 1, 8, 3}, std::string("\0\1\0", 3), chunk("PLTE", "abcxyz") + chunk("tRNS", "\x80"));
  EXPECT_EQ(parsed_image(palette, 4).value().pixels, (std::vector<uint8_t>{'x', 'y', 'z', 255, 'a', 'b', 'c', 128}));
}

/// kJpeg with its first Huffman table claiming 16 x 255 symbols.
std::string with_endless_table() {
  std::string file = kJpeg;
  const size_t at = file.find("\xFF\xC4");
  std::string table = "\xFF\xC4" + std::string("\x10\x03", 2) + '\0' + std::string(16, '\xFF') + std::string(4080, 'x');
  return file.insert(at, table);
}

struct BadRow {
  const char* what;
  std::string bytes, message;  ///< message: a part of the expected message
};

std::vector<BadRow> bad_images() {
  const std::string good = png_of(pattern(4, 4, 3)), rows(1 + 3, '\0');
  std::string long_chunk = good;
  long_chunk.replace(33, 4, std::string("\x3F\xFF\xFF\xFF", 4));
  std::string bad_length = kJpeg;
  bad_length.replace(4, 2, std::string("\0\1", 2));
  return {
      {"empty file", "", "neither a JPEG, a PNG nor a BMP"},
      {"text named .jpg", "I am no image\n", "neither a JPEG, a PNG nor a BMP"},
      {"gif", "GIF89a\1\0\1\0\x80\1", "neither a JPEG, a PNG nor a BMP"},
      {"signature alone", "\x89PNG\r\n\x1A\n", "cannot be decoded"},
      {"half a JPEG", kJpeg.substr(0, kJpeg.size() - 20), "truncated"},
      {"JPEG header alone", kJpeg.substr(0, 20), "truncated"},
      {"JPEG without a picture", "\xFF\xD8\xFF\xD9", "contains no image"},
      {"JPEG segment of length 1", bad_length, "impossible length"},
      {"JPEG with an endless table", with_endless_table(), "impossible Huffman table"},
      {"half a PNG", good.substr(0, good.size() - 40), "cannot be decoded"},
      {"PNG chunk of one gigabyte", long_chunk, "cannot be decoded: more data than its header claims"},
      {"PNG of no width", png({0, 1, 8, 2}, rows), "cannot be decoded"},
      {"PNG with too few rows", png({1, 9, 8, 2}, rows), "cannot be decoded"},
      {"PNG with a side above the limit", png({1 << 21, 1, 8, 2}, rows), "cannot be decoded"},
      {"PNG with 3 * 10^8 pixels", png({20000, 15000, 8, 2}, rows), "20000x15000 pixels, allowed are 268435456"},
      {"PNG with 2^30 pixels", png({1 << 15, 1 << 15, 8, 2}, rows), "claims too many pixels"},
      {"PNG bomb", png({16000, 16000, 8, 2}, rows), "claims 16000x16000 pixels in"},
      {"PNG bit depth 3", png({1, 1, 3, 2}, rows), "cannot be decoded"},
      {"PNG without a palette", png({1, 1, 8, 3}, rows), "cannot be decoded"},
  };
}

TEST(ImageDecodeTest, BadFilesAreNamedWithTheirCause) {
  for (const BadRow& row : bad_images()) {
    const Result<Image> image = parsed_image(row.bytes);
    ASSERT_FALSE(image.ok()) << row.what;
    EXPECT_EQ(image.status().code(), Code::kBadData) << row.what;
    EXPECT_TRUE(image.status().message().starts_with("t.jpg: ")) << image.status().message();
    EXPECT_NE(image.status().message().find(row.message), std::string::npos)
        << row.what << ": " << image.status().message();
  }
}

TEST(ImageDecodeTest, DataThatOutgrowsTheHeaderIsRefused) {
  // 1 x 1 pixel, but 60 blocks of 65535 bytes: the decoder's buffer stops growing.
  std::string stream = "\x78\x01";
  for (int i = 0; i < 60; ++i) stream += std::string("\0\xFF\xFF\0\0", 5) + std::string(65535, 'x');
  std::string head = big_endian(1) + big_endian(1) + "\x08\x02" + std::string(3, '\0');
  const std::string file = "\x89PNG\r\n\x1A\n" + chunk("IHDR", head) + chunk("IDAT", stream) + chunk("IEND", "");
  EXPECT_FALSE(parsed_image(file).ok());
}

TEST(ImageDecodeTest, EveryTruncationIsRefused) {
  for (const std::string& file : {kJpeg, kProgressiveJpeg, kGreyJpeg, png_of(pattern(3, 4, 3))}) {
    ASSERT_TRUE(parsed_image(file).ok());
    const bool is_png = file[1] == 'P';
    const size_t needed = file.size() - (is_png ? 8 : 0);  // the checksums at the end are not read
    for (size_t bytes = 0; bytes < needed; ++bytes) EXPECT_FALSE(parsed_image(file.substr(0, bytes)).ok()) << bytes;
  }
}

TEST(ImageDecodeTest, SpoiledBytesNeverCrash) {
  for (const std::string& file : {kJpeg, kProgressiveJpeg, png_of(pattern(3, 4, 4))}) {
    for (size_t i = 2; i < file.size(); ++i) {
      for (const char value : {'\0', '\x7F', '\xFF', static_cast<char>(file[i] ^ 0x10)}) {
        std::string spoiled = file;
        spoiled[i] = value;
        const Result<Image> image = parsed_image(spoiled);
        EXPECT_TRUE(image.ok() || image.status().code() == Code::kBadData);
      }
    }
  }
}

TEST(ImageDecodeTest, MissingFileIsBadData) {
  const Result<Image> image = decode_image("/nowhere/x.jpg", 3);
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), Code::kBadData);
  EXPECT_NE(image.status().message().find("/nowhere/x.jpg"), std::string::npos);
}

TEST(ImageDecodeTest, ReadsFilesWhateverTheirSuffix) {
  const test::TempFolder folder;
  const Result<Image> image = decode_image(folder.write("a.txt", kJpeg), 3);
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_EQ(image.value().width, 20);
}

}  // namespace
}  // namespace quarkq::calib
