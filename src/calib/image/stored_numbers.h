// SPDX-License-Identifier: MIT
// The numbers that a PNG file stores, before they become colours: class maps are kept in such files.
#pragma once

#include <string>

#include "calib/image/decode_image.h"

namespace quarkq::calib {

/// Grey values or indices into a palette, with 1, 2, 4 or 8 bits each, as they are stored: one channel. kBadData names
/// the file: not a PNG, of colours or 16 bits, damaged, or too large.
Result<Image> read_stored_numbers(const std::string& path);
/// The same from memory; `name` is its name in messages.
Result<Image> parse_stored_numbers(const std::byte* data, size_t bytes, const std::string& name);

}  // namespace quarkq::calib
