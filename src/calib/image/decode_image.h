// SPDX-License-Identifier: MIT
// Decoding of JPEG, PNG and BMP files to 8-bit pixels. Only its .cpp includes the decoder library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq::calib {

/// Pixels row by row with adjacent channels: [H, W, C].
struct Image {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<uint8_t> pixels;
};

constexpr int64_t kMaxPixels = int64_t{1} << 28;  ///< Upper bound on the pixels of any intermediate image, so that a
                                                  ///< small file cannot require huge amounts of memory.

/// Decodes the image in a file to this number of channels: 1 is grey (ITU-R 601-2), 3 is RGB, 4 is RGBA with alpha 255
/// if the file has none. 16-bit values lose their low byte; orientation marks (EXIF) have no effect. Fails with
/// kBadData naming the file for another format, and for damaged, truncated or too large files.
Result<Image> decode_image(const std::string& path, int64_t channels);
/// Decodes an image in memory. Messages refer to it as `name`.
Result<Image> parse_image(const std::byte* data, size_t bytes, const std::string& name, int64_t channels);

/// Detects faults of a file without decoding it: another format, damage of a JPEG, a PNG without its end, a size that
/// is not allowed.
Status check_image(const std::byte* data, size_t bytes, const std::string& name);

/// Returns only the size of an image file as stated in its header, without decoding.
Result<Image> read_image_size(const std::string& path);

}  // namespace quarkq::calib
