// SPDX-License-Identifier: MIT
// PNG files of class maps: indices and grey values as they are stored. The files are made by hand from the format's
// definition.
#include "calib/image/image_formats.h"

#include <gtest/gtest.h>

namespace quarkq::calib {
namespace {

const std::string kSignatureHex = "89504e470d0a1a0a", kEndHex = "0000000049454e44ae426082";
const std::string kPaletteHex = "0000000c504c5445000102030405060708090a0bdc4c389c0000000374524e5300ffff4450d621";
// 3 x 2 indices of 8 bits, and 3 x 1 of 2 bits; both with a palette of four colours of which two are transparent.
const std::string kEightBits = kSignatureHex + "0000000d4948445200000003000000020803000000aaaa9628" + kPaletteHex +
                               "000000104944415478da636060fccf20cac40c00054f011b2444b355" + kEndHex;
const std::string kTwoBits = kSignatureHex + "0000000d4948445200000003000000010203000000668efc27" + kPaletteHex +
                             "0000000a4944415478da63900600001d001c237c8fac" + kEndHex;
const std::string kFourBits = kSignatureHex + "0000000d494844520000000200000001040000000014b9cd57" +
                              "0000000a4944415478da63f80c0000f500f4339e451a" + kEndHex;
const std::string kColouredPixel = kSignatureHex + "0000000d4948445200000001000000010802000000907753de" +
                                   "0000000c4944415478da636064620600000e0007e99237d4" + kEndHex;
const std::string kSixteenBits = kSignatureHex + "0000000d49484452000000010000000110000000006aee4716" +
                                 "0000000b4944415478da636064020000070004e5ed94cf" + kEndHex;

std::vector<std::byte> bytes_of(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes.push_back(std::byte(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

Result<Image> numbers_of(const std::vector<std::byte>& bytes) {
  return parse_stored_numbers(bytes.data(), bytes.size(), "f");
}

TEST(StoredNumbersTest, IndicesStayIndices) {
  const Image image = numbers_of(bytes_of(kEightBits)).value();
  EXPECT_EQ(image.width, 3);
  EXPECT_EQ(image.height, 2);
  EXPECT_EQ(image.pixels, (std::vector<uint8_t>{0, 1, 255, 21, 2, 3}));
  EXPECT_EQ(numbers_of(bytes_of(kTwoBits)).value().pixels, (std::vector<uint8_t>{0, 1, 2}));
}

TEST(StoredNumbersTest, GreyValuesOfFewBitsAreNotScaled) {
  EXPECT_EQ(numbers_of(bytes_of(kFourBits)).value().pixels, (std::vector<uint8_t>{15, 3}));
}

TEST(StoredNumbersTest, RefusesColours) {
  for (const std::string& hex : {kColouredPixel, kSixteenBits}) {
    EXPECT_NE(numbers_of(bytes_of(hex)).status().message().find("f: contains colours or 16 bits"), std::string::npos);
  }
}

TEST(StoredNumbersTest, RefusesDamagedFiles) {
  const std::vector<std::byte> whole = bytes_of(kEightBits);
  for (size_t size = 0; size + 1 < whole.size(); ++size) {
    const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_EQ(numbers_of(part).status().code(), Code::kBadData) << size;
  }
  for (size_t at = 0; at < whole.size(); ++at) {  // no byte may crash it
    for (const int value : {0x00, 0x7F, 0xFF}) {
      std::vector<std::byte> changed = whole;
      changed[at] = std::byte(value);
      (void)numbers_of(changed).ok();
    }
  }
}

}  // namespace
}  // namespace quarkq::calib
