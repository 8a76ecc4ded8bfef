// SPDX-License-Identifier: MIT
// Images for the image tests: a pattern that can be computed anywhere, PNG files written by hand (stored, not packed),
// and small JPEG files that Pillow wrote.
#pragma once

#include <cstdint>
#include <string>

#include "calib/image/decode_image.h"

namespace quarkq::calib::test_image {

/// value(y, x, c) = (37 x + 59 y + 91 c + 7 x y + 13 (x ^ y)) mod 256.
inline Image pattern(int64_t height, int64_t width, int64_t channels) {
  Image image{height, width, channels, {}};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        image.pixels.push_back(static_cast<uint8_t>(x * 37 + y * 59 + c * 91 + x * y * 7 + (x ^ y) * 13));
      }
    }
  }
  return image;
}

inline std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

/// A chunk without its checksum, which the decoder does not read.
inline std::string chunk(const std::string& name, const std::string& data) {
  return big_endian(static_cast<uint32_t>(data.size())) + name + data + "CRC_";
}

/// A zlib stream of one stored block. REQUIRES: fewer than 65536 bytes.
inline std::string stored(const std::string& data) {
  const auto size = static_cast<uint16_t>(data.size()), other = static_cast<uint16_t>(~size);
  std::string out = "\x78\x01\x01";
  for (const uint16_t word : {size, other}) out += {static_cast<char>(word & 0xFF), static_cast<char>(word >> 8)};
  return out + data + "ADLR";
}

struct PngHeader {
  uint32_t width = 0, height = 0;
  char depth = 8, color = 2;  ///< color: 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGBA
};

/// `rows`: each with its filter byte 0 in front. `extra`: chunks between header and data.
inline std::string png(const PngHeader& header, const std::string& rows, const std::string& extra = "") {
  const std::string head =
      big_endian(header.width) + big_endian(header.height) + header.depth + header.color + std::string(3, '\0');
  return "\x89PNG\r\n\x1A\n" + chunk("IHDR", head) + extra + chunk("IDAT", stored(rows)) + chunk("IEND", "");
}

/// An 8-bit PNG file that holds `image` (1, 3 or 4 channels).
inline std::string png_of(const Image& image) {
  std::string rows;
  const auto row_bytes = static_cast<size_t>(image.width * image.channels);
  for (size_t y = 0; y < static_cast<size_t>(image.height); ++y) {
    rows += '\0';
    rows.append(reinterpret_cast<const char*>(image.pixels.data()) + y * row_bytes, row_bytes);
  }
  const char color = image.channels == 1 ? 0 : image.channels == 3 ? 2 : 6;
  return png({static_cast<uint32_t>(image.width), static_cast<uint32_t>(image.height), 8, color}, rows);
}

inline std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// Pillow 12.3: 24 rows of 20 pixels, R = 12 x, G = 10 y, B = 5 (x + y).
inline const std::string kJpeg = from_hex(
    "ffd8ffe000104a46494600010100000100010000ffdb0043000d090a0b0a080d0b0a0b0e0e0d0f13201513121213271c1e17202e2931302e"
    "292d2c333a4a3e333646372c2d405741464c4e525352323e5a615a50604a51524fffdb0043010e0e0e131113261515264f352d354f4f4f4f"
    "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4fffc00011080018001403"
    "012200021101031101ffc4001800010101010100000000000000000000000005040603ffc4001a1000020203000000000000000000000000"
    "00042131010222ffc400190100020301000000000000000000000000020601030407ffc4001c110002020301010000000000000000000000"
    "0201040311211231ffda000c03010002110311003f00e1d74ea0aaba7506b5d3a82a2e9d4110c5942e7c30e89f3880741a27ce2007e8645b"
    "9c3c174ea0aaba750019624e71432b70a3a27ce20001ec635cada3ffd9");
/// The same image, progressive.
inline const std::string kProgressiveJpeg = from_hex(
    "ffd8ffe000104a46494600010100000100010000ffdb0043000d090a0b0a080d0b0a0b0e0e0d0f13201513121213271c1e17202e2931302e"
    "292d2c333a4a3e333646372c2d405741464c4e525352323e5a615a50604a51524fffdb0043010e0e0e131113261515264f352d354f4f4f4f"
    "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4fffc20011080018001403"
    "012200021101031101ffc40017000101010100000000000000000000000000040305ffc40018010003010100000000000000000000000001"
    "02050306ffda000c03010002100310000001e1d5b541b0740d4b3accb9ba01a5ffc400161001010100000000000000000000000000020012"
    "ffda00080101000105022222c4444588888b17ffc40017110003010000000000000000000000000000010302ffda0008010301013f018585"
    "621a62d33fffc400161101010100000000000000000000000000110010ffda0008010201013f01677fffc400141001000000000000000000"
    "00000000000030ffda0008010100063f021fffc40017100003010000000000000000000000000001102100ffda0008010100013f21402180"
    "860237ffda000c0301000200030000001048087effc40017110101010100000000000000000000000000211131ffda0008010301013f10e4"
    "826627ffc40017110101010100000000000000000000000001001011ffda0008010201013f10301bb7ffc400161001010100000000000000"
    "000000000000210031ffda0008010100013f10c0b02216058110b02c0885ffd9");
/// R of the same image, as grey.
inline const std::string kGreyJpeg = from_hex(
    "ffd8ffe000104a46494600010100000100010000ffdb004300100b0c0e0c0a100e0d0e1211101318281a181616183123251d283a333d3c39"
    "33383740485c4e404457453738506d51575f626768673e4d71797064785c656763ffc0000b080018001401011100ffc40015000101000000"
    "00000000000000000000000607ffc400191000020301000000000000000000000000000501044133ffda0008010100003f0028af060af053"
    "5f941265783057829afca0932bc182bc14d7e507ffd9");

}  // namespace quarkq::calib::test_image
