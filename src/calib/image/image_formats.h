// SPDX-License-Identifier: MIT
// Checks of JPEG files that the decoder library does not perform.
#pragma once

#include <cstddef>
#include <string>

#include "calib/image/decode_image.h"

namespace quarkq::calib {

/// Returns null if the segments of a JPEG file are consistent up to its end mark and its Huffman tables are possible;
/// otherwise returns the fault. The decoder would accept a truncated file, and write past a table that claims more than
/// 256 symbols.
const char* find_jpeg_damage(const std::byte* data, size_t bytes);

// The numbers stored in a PNG file before their conversion to colours: class maps are stored in such files.

/// Returns grey values or palette indices of 1, 2, 4 or 8 bits as stored, in one channel. Fails with kBadData naming
/// the file if it is not a PNG, has colours or 16 bits, or is damaged or too large.
Result<Image> read_stored_numbers(const std::string& path);
/// Reads numbers from a PNG in memory. Messages refer to it as `name`.
Result<Image> parse_stored_numbers(const std::byte* data, size_t bytes, const std::string& name);

}  // namespace quarkq::calib
