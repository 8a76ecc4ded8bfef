// SPDX-License-Identifier: MIT
#include "calib/image/frame_image.h"

#include <algorithm>

#include "calib/image/resize_image.h"
#include "numeric/rounding.h"

namespace quarkq::calib {
namespace {

using config::ResizeMode;

/// Copies `height` x `width` pixels between two images of the same channels.
void copy_part(const Image& from, ImageSize from_corner, Image& to, ImageSize to_corner, const ImageSize& size) {
  const int64_t channels = from.channels;
  for (int64_t y = 0; y < size.height; ++y) {
    const int64_t source = ((from_corner.height + y) * from.width + from_corner.width) * channels;
    const int64_t target = ((to_corner.height + y) * to.width + to_corner.width) * channels;
    std::copy_n(from.pixels.begin() + source, size.width * channels, to.pixels.begin() + target);
  }
}

/// A canvas of `size` in the colour `fill` (file order), with `image` in its middle; an odd pixel is at the bottom
/// or the right.
Image on_canvas(const Image& image, const ImageSize& size, const std::vector<uint8_t>& fill) {
  Image canvas{size.height, size.width, image.channels, {}};
  canvas.pixels.resize(static_cast<size_t>(size.height * size.width * image.channels));
  for (size_t i = 0; i < canvas.pixels.size(); ++i) canvas.pixels[i] = fill[i % fill.size()];
  const ImageSize corner{(size.height - image.height) / 2, (size.width - image.width) / 2};
  copy_part(image, {0, 0}, canvas, corner, {image.height, image.width});
  return canvas;
}

/// The longer side when the shorter one becomes `side`, rounded down as torchvision does.
int64_t longer_side(int64_t side, int64_t longer, int64_t shorter) {
  return static_cast<int64_t>(static_cast<double>(side * longer) / static_cast<double>(shorter));
}

int64_t scaled(int64_t pixels, double scale, int64_t most) {
  const auto rounded = static_cast<int64_t>(numeric::round_half_even(static_cast<double>(pixels) * scale));
  return std::clamp(rounded, int64_t{1}, most);
}

}  // namespace

ImageSize resized_size(const Image& image, ResizeMode mode, const ImageSize& target) {
  const int64_t h = image.height, w = image.width;
  if (mode == ResizeMode::kStretch) return target;
  const double down = static_cast<double>(target.height) / static_cast<double>(h);
  const double across = static_cast<double>(target.width) / static_cast<double>(w);
  if (mode == ResizeMode::kShorterSide && target.height != target.width) {
    return down > across ? ImageSize{target.height, std::max(target.width, longer_side(target.height, w, h))}
                         : ImageSize{std::max(target.height, longer_side(target.width, h, w)), target.width};
  }
  if (mode == ResizeMode::kShorterSide) {
    const int64_t side = target.height;
    return w <= h ? ImageSize{longer_side(side, h, w), side} : ImageSize{side, longer_side(side, w, h)};
  }
  const double scale = std::min(down, across);
  return {scaled(h, scale, target.height), scaled(w, scale, target.width)};
}

Result<Image> resize_into(const Image& image, const config::Resize& resize, const ImageSize& target,
                          const std::string& file) {
  const ImageSize size = resized_size(image, resize.mode, target);
  const bool is_letterbox = resize.mode == ResizeMode::kLetterbox;
  const int64_t canvas = is_letterbox ? target.height * target.width : 0;
  if (!can_resize(image, size.height, size.width) || canvas > kMaxPixels) {
    return bad_data(file, ": resizing ", image.height, "x", image.width, " to ", size.height, "x", size.width,
                    " pixels (height x width) exceeds the limit of ", kMaxPixels, " pixels");
  }
  Image resized = resize_image(image, size.height, size.width, {resize.interpolation, resize.antialias});
  if (!is_letterbox) return resized;
  const std::vector<uint8_t> fill(resize.fill.begin(), resize.fill.end());
  return on_canvas(resized, target, fill);
}

Result<Image> crop_center(const Image& image, const ImageSize& size, const std::string& file) {
  if (size.height > image.height || size.width > image.width) {
    return bad_data(file, ": a crop of ", size.height, "x", size.width, " does not fit into the image, ", image.height,
                    "x", image.width, " pixels (height x width) after resizing");
  }
  const auto corner = [](int64_t outer, int64_t inner) {
    return static_cast<int64_t>(numeric::round_half_even(static_cast<double>(outer - inner) / 2.0));
  };
  Image part{size.height, size.width, image.channels, {}};
  part.pixels.resize(static_cast<size_t>(size.height * size.width * image.channels));
  copy_part(image, {corner(image.height, size.height), corner(image.width, size.width)}, part, {0, 0}, size);
  return part;
}

}  // namespace quarkq::calib
