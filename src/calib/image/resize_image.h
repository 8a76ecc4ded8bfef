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

/// Interpolation between pixels. With `antialias` the result equals Pillow's Image.resize bit for bit (up to version
/// 12; bicubic with a = -0.5; RGBA is weighted by alpha). Without it, the result equals OpenCV (a = -0.75) within one
/// step.
struct Resampling {
  config::Interpolation interpolation = config::Interpolation::kBilinear;
  bool antialias = true;
};

/// Returns `image` with `height` x `width` pixels. REQUIRES: both >= 1 and can_resize().
Image resize_image(const Image& image, int64_t height, int64_t width, const Resampling& resampling);

/// Returns whether resizing stays within kMaxPixels, including intermediate images.
bool can_resize(const Image& image, int64_t height, int64_t width);

// The input pixels of each output pixel along one axis, and their weights.

/// Output pixel i is the sum over t < count[i] of weights[i * stride + t] times input pixel first[i] + t. The weights
/// of a pixel sum to 1.
struct Taps {
  std::vector<int32_t> first, count;
  int64_t stride = 0;
  std::vector<double> weights;
};

/// Returns the taps of `out` pixels computed from `in`. REQUIRES: in, out >= 1; bilinear or bicubic.
Taps make_taps(int64_t in, int64_t out, const Resampling& resampling);

/// Returns the input pixel that each of `out` pixels copies (interpolation "nearest").
std::vector<int64_t> nearest_pixels(int64_t in, int64_t out, bool antialias);

/// The visible part of an image: the keys "resize" and "crop" of the block "preprocess:".
struct ImageSize {
  int64_t height = -1, width = -1;  ///< -1 if unknown.
};

/// Returns the size of `image` after resizing by `mode` to `target`; for kLetterbox without its border. REQUIRES: sizes
/// >= 1.
ImageSize resized_size(const Image& image, config::ResizeMode mode, const ImageSize& target);

/// Returns `image` resized to `target` (all sizes known). Fails with kBadData naming `file` if that needs too many
/// pixels.
Result<Image> resize_into(const Image& image, const config::Resize& resize, const ImageSize& target,
                          const std::string& file);

/// Returns the centre of `image`. Fails with kBadData naming `file` if the image is smaller.
Result<Image> crop_center(const Image& image, const ImageSize& size, const std::string& file);

}  // namespace quarkq::calib
