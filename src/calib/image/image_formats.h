// SPDX-License-Identifier: MIT
// What the decoder library does not check of a JPEG file.
#pragma once

#include <cstddef>
#include <string>

#include "calib/image/decode_image.h"

namespace quarkq::calib {

/// Null when the segments of a JPEG file fit into each other up to its end mark and its Huffman tables are possible;
/// else what is wrong. The decoder would accept a truncated file, and write past a table that claims more
/// than 256 symbols.
const char* find_jpeg_damage(const std::byte* data, size_t bytes);

// The numbers that a PNG file stores, before they become colours: class maps are kept in such files.

/// Grey values or indices into a palette, with 1, 2, 4 or 8 bits each, as they are stored: one channel. kBadData names
/// the file: not a PNG, of colours or 16 bits, damaged, or too large.
Result<Image> read_stored_numbers(const std::string& path);
/// The same from memory; `name` is its name in messages.
Result<Image> parse_stored_numbers(const std::byte* data, size_t bytes, const std::string& name);

}  // namespace quarkq::calib
