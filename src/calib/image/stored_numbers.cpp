// SPDX-License-Identifier: MIT
// The decoder turns palettes into colours and scales values of few bits up. So it is given the same file without its
// palette, marked as grey, and the scale is taken back.
#include "calib/image/stored_numbers.h"

#include <cstring>
#include <string_view>

#include "base/file_system.h"

namespace quarkq::calib {
namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1A\n";
constexpr size_t kChunkHead = 8, kChunkTail = 4, kHeaderBytes = 13;  // length and name; checksum; IHDR
constexpr size_t kDepthAt = 8, kColourAt = 9;                        // in IHDR
constexpr int kGrey = 0, kPalette = 3;
constexpr size_t kMostFileBytes = size_t{1} << 28;  // as decode_image() has it

size_t length_at(const std::byte* data) {
  size_t length = 0;
  for (int i = 0; i < 4; ++i) length = length << 8 | std::to_integer<size_t>(data[i]);
  return length;
}

/// A PNG file as grey: only what the decoder needs for that. `depth` becomes its bits for each value.
Result<std::vector<std::byte>> as_grey(const std::byte* data, size_t bytes, const std::string& name, int& depth) {
  const auto damaged = [&] { return bad_data(name, ": is a damaged PNG file"); };
  std::vector<std::byte> grey(data, data + kSignature.size());
  for (size_t at = kSignature.size(); at < bytes;) {
    if (bytes - at < kChunkHead + kChunkTail) return damaged();
    const size_t length = length_at(data + at);
    if (length > bytes - at - kChunkHead - kChunkTail) return damaged();
    const std::string_view kind(reinterpret_cast<const char*>(data) + at + 4, 4);
    const std::byte *chunk = data + at, *end = chunk + kChunkHead + length + kChunkTail;
    at += kChunkHead + length + kChunkTail;
    const bool is_first = grey.size() == kSignature.size();
    if (is_first != (kind == "IHDR") || (is_first && length != kHeaderBytes)) return damaged();
    if (is_first) {
      depth = std::to_integer<int>(chunk[kChunkHead + kDepthAt]);
      const int colour = std::to_integer<int>(chunk[kChunkHead + kColourAt]);
      const bool is_read = (colour == kGrey || colour == kPalette) && depth >= 1 && depth <= 8;
      if (!is_read) return bad_data(name, ": holds colours or 16 bits, allowed are grey or a palette of up to 8 bits");
    }
    if (is_first || kind == "IDAT" || kind == "IEND") grey.insert(grey.end(), chunk, end);
    if (is_first) grey[kSignature.size() + kChunkHead + kColourAt] = std::byte{kGrey};
    if (kind == "IEND") return grey;
  }
  return damaged();
}

}  // namespace

Result<Image> parse_stored_numbers(const std::byte* data, size_t bytes, const std::string& name) {
  const bool is_png = bytes >= kSignature.size() && std::memcmp(data, kSignature.data(), kSignature.size()) == 0;
  if (!is_png) return bad_data(name, ": is no PNG file");
  if (bytes > kMostFileBytes) return bad_data(name, ": has ", bytes, " bytes, allowed are ", kMostFileBytes);
  int depth = 0;
  QQ_TRY(const std::vector<std::byte> grey, as_grey(data, bytes, name, depth));
  QQ_TRY(Image image, parse_image(grey.data(), grey.size(), name, 1));
  const int scale = 255 / ((1 << depth) - 1);
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(value / scale);
  return image;
}

Result<Image> read_stored_numbers(const std::string& path) {
  const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file.ok()) return bad_data(file.status().message());
  return parse_stored_numbers(file.value()->data(), file.value()->size(), path);
}

}  // namespace quarkq::calib
