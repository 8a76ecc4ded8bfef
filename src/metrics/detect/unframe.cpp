// SPDX-License-Identifier: MIT
#include "metrics/detect/unframe.h"

#include <algorithm>
#include <cmath>

#include "numeric/rounding.h"

namespace quarkq::metrics {
namespace {

using calib::ImageSize;
using config::ResizeMode;

/// What is cut out after resizing; unknown sides when nothing is.
ImageSize cut_size(const Geometry& geometry) {
  const config::Preprocess& preprocess = *geometry.preprocess;
  if (preprocess.crop) return {preprocess.crop->first, preprocess.crop->second};
  return preprocess.crop_fraction ? geometry.input : ImageSize{};
}

/// What the image is resized into: a size of its own, what the cut needs, or the input's (as calib/image reads it).
ImageSize target_size(const Geometry& geometry) {
  const config::Preprocess& preprocess = *geometry.preprocess;
  if (preprocess.resize->height && preprocess.resize->width) {
    return {*preprocess.resize->height, *preprocess.resize->width};
  }
  const ImageSize cut = cut_size(geometry);
  if (!preprocess.crop_fraction || cut.height < 1 || cut.width < 1) return geometry.input;
  const auto before = [&](int64_t side) { return std::llround(static_cast<double>(side) / *preprocess.crop_fraction); };
  return {before(cut.height), before(cut.width)};
}

/// Where the middle part of `inner` pixels begins.
double corner(int64_t outer, int64_t inner) { return numeric::round_half_even(static_cast<double>(outer - inner) / 2); }

double ratio(int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

}  // namespace

Box Unframe::apply(const Box& box) const {
  Box moved{(box.left - offset_x) / scale_x, (box.top - offset_y) / scale_y, (box.right - offset_x) / scale_x,
            (box.bottom - offset_y) / scale_y};
  if (image.width < 1 || image.height < 1) return moved;
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  return {std::clamp(moved.left, 0.0, width), std::clamp(moved.top, 0.0, height), std::clamp(moved.right, 0.0, width),
          std::clamp(moved.bottom, 0.0, height)};
}

Result<Unframe> unframe_for(const Geometry& geometry, const ImageSize& image) {
  Unframe unframe{.image = image};
  if (!geometry.preprocess || !geometry.preprocess->resize) return unframe;
  if (image.width < 1 || image.height < 1) return bad_data("the truth has no width and height of the image");
  const config::Preprocess& preprocess = *geometry.preprocess;
  const ImageSize target = target_size(geometry);
  if (target.width < 1 || target.height < 1) {
    return bad_data(
        "the size that images are resized to is not known; give the model, or a size in `preprocess: resize`");
  }
  const ResizeMode mode = preprocess.resize->mode;
  const calib::Image empty{image.height, image.width, 0, {}};
  const ImageSize size = calib::resized_size(empty, mode, target);
  unframe.scale_x = ratio(size.width, image.width), unframe.scale_y = ratio(size.height, image.height);
  const bool keeps_ratio = mode == ResizeMode::kLetterbox || mode == ResizeMode::kKeepRatio;
  if (keeps_ratio) {  // as detectors' own tools do it: the ratio before sides are rounded to pixels
    unframe.scale_x = std::min(ratio(target.width, image.width), ratio(target.height, image.height));
    unframe.scale_y = unframe.scale_x;
  }
  const ImageSize cut = cut_size(geometry);
  if (mode == ResizeMode::kLetterbox) {
    const int64_t left = (target.width - size.width) / 2, top = (target.height - size.height) / 2;  // whole pixels
    unframe.offset_x = static_cast<double>(left);
    unframe.offset_y = static_cast<double>(top);
  } else if (cut.width > 0 && cut.height > 0) {
    unframe.offset_x = -corner(size.width, cut.width);
    unframe.offset_y = -corner(size.height, cut.height);
  }
  return unframe;
}

}  // namespace quarkq::metrics
