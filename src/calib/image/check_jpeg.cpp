// SPDX-License-Identifier: MIT
// A walk over the segments of a JPEG file (ITU-T T.81, annex B): marker, length, payload; after "start of scan" the
// coded data up to the next marker.
#include "calib/image/check_jpeg.h"

#include <cstdint>
#include <span>

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
    if (marker == kEndOfImage) return has_scan ? nullptr : "the file holds no image";
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

}  // namespace quarkq::calib
