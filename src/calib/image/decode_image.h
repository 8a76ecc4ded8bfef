// SPDX-License-Identifier: MIT
// JPEG, PNG and BMP files to 8-bit pixels. Its .cpp is the only file that sees the decoder library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq::calib {

/// Pixels by rows, channels side by side: [H, W, C].
struct Image {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<uint8_t> pixels;
};

constexpr int64_t kMaxPixels =
    int64_t{1} << 28;  ///< of any intermediate image, so that a small file does not need huge amounts of memory

/// The image in a file with this many channels: 1 is grey (ITU-R 601-2), 3 is RGB, 4 is RGBA with alpha 255 where the
/// file has none. 16-bit values lose their low byte; orientation marks (EXIF) have no effect. kBadData names the file:
/// another format, damaged, truncated, or too large.
Result<Image> decode_image(const std::string& path, int64_t channels);
/// The same from memory; `name` is its name in messages.
Result<Image> parse_image(const std::byte* data, size_t bytes, const std::string& name, int64_t channels);

/// Finds what is wrong with a file without decoding it: another format, damage of a JPEG, a PNG without its end, a size
/// that is not allowed.
Status check_image(const std::byte* data, size_t bytes, const std::string& name);

/// Only the size of an image file, as its header claims it: no pixels, no channels.
Result<Image> read_image_size(const std::string& path);

}  // namespace quarkq::calib
