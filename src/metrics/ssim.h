// SPDX-License-Identifier: MIT
// Structural similarity of two arrays seen as images (ref:evaluation#metrics).
#pragma once

#include <cstdint>
#include <span>

#include "ir/shape.h"

namespace quarkq::metrics {

/// How an array falls into images of `height` x `width`: value (image, y, x) is at
/// image * image_stride + y * row_stride + x * column_stride.
struct ImageSplit {
  int64_t images = 1, height = 1, width = 1;
  int64_t image_stride = 0, row_stride = 0, column_stride = 1;
};
/// Rank 0 and 1: one row. Rank 2: [H, W]. Rank 3: [H, W, C]. Above: [..., H, W].
ImageSplit split_images(const ir::Shape& dims);

/// What stands for the variances and the covariance inside a window.
enum class WindowMoments {
  kCentral,  ///< E[xy] - E[x] E[y]: the definition of Wang et al. 2004
  kRaw,      ///< E[xy]: what the reference computes
};

/// Mean of the similarity map over all pixels of all images, 1 for equal arrays. Constants are those of values between
/// 0 and 255. Works in tiles: memory does not grow with the image. REQUIRES: sizes as `split` says, not empty.
double ssim(std::span<const double> a, std::span<const double> b, const ImageSplit& split, WindowMoments moments);

}  // namespace quarkq::metrics
