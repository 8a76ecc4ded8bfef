// SPDX-License-Identifier: MIT
// Resizing 8-bit images like the two libraries that most models were trained with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

// Which input pixels make an output pixel along one axis, and with what weight.

/// Output pixel i is the sum over t < count[i] of weights[i * stride + t] times input pixel first[i] + t. The weights
/// of a pixel sum to 1.
struct Taps {
  std::vector<int32_t> first, count;
  int64_t stride = 0;
  std::vector<double> weights;
};

/// The taps of `out` pixels made from `in`. REQUIRES: in, out >= 1; bilinear or bicubic.
Taps make_taps(int64_t in, int64_t out, const Resampling& resampling);

/// The input pixel that each of `out` pixels copies (interpolation "nearest").
std::vector<int64_t> nearest_pixels(int64_t in, int64_t out, bool antialias);

/// Which part of an image a model sees: the keys "resize" and "crop" of the block "preprocess:".
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
