// SPDX-License-Identifier: MIT
// Resizing 8-bit images like the two libraries that most models were trained with.
#pragma once

#include "calib/image/decode_image.h"
#include "config/preprocess.h"

namespace quarkq::calib {

/// Interpolation between pixels. With `antialias` the result equals Pillow's Image.resize bit for bit (up to
/// version 12; bicubic with a = -0.5; RGBA is weighted by alpha). Without it, it is that of OpenCV (a = -0.75) within
/// one step.
struct Resampling {
  config::Interpolation interpolation = config::Interpolation::kBilinear;
  bool antialias = true;
};

/// `image` with `height` x `width` pixels. REQUIRES: both >= 1 and can_resize().
Image resize_image(const Image& image, int64_t height, int64_t width, const Resampling& resampling);

/// Whether resizing stays within kMaxPixels, on the way as well.
bool can_resize(const Image& image, int64_t height, int64_t width);

}  // namespace quarkq::calib
