// SPDX-License-Identifier: MIT
// What the decoder library does not check of a JPEG file.
#pragma once

#include <cstddef>

namespace quarkq::calib {

/// Null when the segments of a JPEG file fit into each other up to its end mark and its Huffman tables are possible;
/// else what is wrong. The decoder would accept a truncated file, and write past a table that claims more
/// than 256 symbols.
const char* find_jpeg_damage(const std::byte* data, size_t bytes);

}  // namespace quarkq::calib
