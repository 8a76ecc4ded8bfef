// SPDX-License-Identifier: MIT
// Which part of an image a model sees: the keys "resize" and "crop" of the block "preprocess:".
#pragma once

#include <optional>
#include <string>

#include "calib/image/decode_image.h"
#include "config/preprocess.h"

namespace quarkq::calib {

struct ImageSize {
  int64_t height = -1, width = -1;  ///< -1: not known
};

/// Pixels after resizing `image` by `mode` into `target`; of kLetterbox without its border. REQUIRES: sizes >= 1.
ImageSize resized_size(const Image& image, config::ResizeMode mode, const ImageSize& target);

/// `image` resized into `target` (all sizes known). Fails with kBadData naming `file` when that needs too many pixels.
Result<Image> resize_into(const Image& image, const config::Resize& resize, const ImageSize& target,
                          const std::string& file);

/// The middle of `image`. Fails with kBadData naming `file` when the image is smaller.
Result<Image> crop_center(const Image& image, const ImageSize& size, const std::string& file);

}  // namespace quarkq::calib
