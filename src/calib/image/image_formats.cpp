// SPDX-License-Identifier: MIT
// A walk over the segments of a JPEG file (ITU-T T.81, annex B): marker, length, payload; after "start of scan" the
// coded data up to the next marker.
#include "calib/image/image_formats.h"

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/file_system.h"

namespace quarkq::calib {

namespace {

using Bytes = std::span<const std::byte>;

constexpr int kStartOfImage = 0xD8, kEndOfImage = 0xD9, kStartOfScan = 0xDA, kHuffmanTables = 0xC4;
constexpr size_t kMaxSymbols = 256;

int at(Bytes bytes, size_t i) { return std::to_integer<int>(bytes[i]); }

/// Markers that stand alone: restarts, TEM, and a byte 0xFF of coded data, written as FF 00.
bool has_no_length(int marker) { return marker == 0 || marker == 1 || (marker >= 0xD0 && marker <= kStartOfImage); }

/// The marker at or after `position`, which then points after it; -1 at the end of the file.
int next_marker(Bytes file, size_t& position) {
  while (position < file.size() && at(file, position) != 0xFF) ++position;
  while (position < file.size() && at(file, position) == 0xFF) ++position;
  return position < file.size() ? at(file, position++) : -1;
}

/// Each table: one byte, the number of symbols per code length (16 bytes), the symbols.
bool are_huffman_tables(Bytes payload) {
  while (!payload.empty()) {
    if (payload.size() < 17) return false;
    size_t symbols = 0;
    for (size_t i = 1; i < 17; ++i) symbols += static_cast<size_t>(at(payload, i));
    if (symbols > kMaxSymbols || payload.size() < 17 + symbols) return false;
    payload = payload.subspan(17 + symbols);
  }
  return true;
}

}  // namespace

const char* find_jpeg_damage(const std::byte* data, size_t bytes) {
  const Bytes file(data, bytes);
  size_t position = 0;
  bool has_scan = false;
  for (;;) {
    const int marker = next_marker(file, position);
    if (marker < 0) return "the file is truncated";
    if (marker == kEndOfImage) return has_scan ? nullptr : "the file contains no image";
    if (has_no_length(marker)) continue;
    if (file.size() - position < 2) return "the file is truncated";
    const size_t length = static_cast<size_t>(at(file, position) << 8 | at(file, position + 1));
    if (length < 2) return "a segment of impossible length";
    if (file.size() - position < length) return "the file is truncated";
    if (marker == kHuffmanTables && !are_huffman_tables(file.subspan(position + 2, length - 2))) {
      return "an impossible Huffman table";
    }
    has_scan = has_scan || marker == kStartOfScan;
    position += length;
  }
}

// The decoder turns palettes into colours and scales values of few bits up. So it is given the same file without its
// palette, marked as grey, and the scale is taken back.

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
      if (!is_read)
        return bad_data(name, ": contains colours or 16 bits, allowed are grey or a palette of up to 8 bits");
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
  if (!is_png) return bad_data(name, ": is not a PNG file");
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
