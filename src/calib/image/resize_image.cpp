// SPDX-License-Identifier: MIT
#include "calib/image/resize_image.h"

#include <algorithm>
#include <cstring>

#include "calib/image/resize_loops.h"
#include "calib/image/resize_taps.h"
#include "numeric/rounding.h"

namespace quarkq::calib {
namespace {

using config::Interpolation;

Image blank(int64_t height, int64_t width, int64_t channels) {
  return {height, width, channels, std::vector<uint8_t>(static_cast<size_t>(height * width * channels))};
}

const uint8_t* row_of(const Image& image, int64_t y) { return image.pixels.data() + y * image.width * image.channels; }
uint8_t* row_of(Image& image, int64_t y) { return image.pixels.data() + y * image.width * image.channels; }

Image copy_nearest(const Image& image, int64_t height, int64_t width, bool antialias) {
  const std::vector<int64_t> rows = nearest_pixels(image.height, height, antialias);
  const std::vector<int64_t> columns = nearest_pixels(image.width, width, antialias);
  const int64_t channels = image.channels;
  Image out = blank(height, width, channels);
  for (int64_t y = 0; y < height; ++y) {
    const uint8_t* from = row_of(image, rows[static_cast<size_t>(y)]);
    uint8_t* to = row_of(out, y);
    for (const int64_t x : columns) to = std::copy_n(from + x * channels, channels, to);
  }
  return out;
}

std::vector<int32_t> fixed_weights(const Taps& taps) {
  std::vector<int32_t> fixed(taps.weights.size());
  for (size_t i = 0; i < fixed.size(); ++i) {
    fixed[i] = static_cast<int32_t>(numeric::round_half_away(taps.weights[i] * (1 << kWeightBits)));
  }
  return fixed;
}

Image resize_width(const Image& image, int64_t width, const Resampling& resampling) {
  const Taps taps = make_taps(image.width, width, resampling);
  const std::vector<int32_t> weights = fixed_weights(taps);
  const FixedTaps fixed{taps.first.data(), taps.count.data(), weights.data(), taps.stride, width};
  Image out = blank(image.height, width, image.channels);
  for (int64_t y = 0; y < image.height; ++y) {
    QQ_DISPATCH(calib, resize_row)(row_of(image, y), fixed, image.channels, row_of(out, y));
  }
  return out;
}

Image resize_height(const Image& image, int64_t height, const Resampling& resampling) {
  const Taps taps = make_taps(image.height, height, resampling);
  const std::vector<int32_t> weights = fixed_weights(taps);
  Image out = blank(height, image.width, image.channels);
  for (int64_t y = 0; y < height; ++y) {
    const auto i = static_cast<size_t>(y);
    QQ_DISPATCH(calib, blend_rows)
    (row_of(image, taps.first[i]), image.width * image.channels, weights.data() + y * taps.stride, taps.count[i],
     row_of(out, y));
  }
  return out;
}

/// Weights colours by alpha or takes the weight out again, so that the colour of invisible pixels does not bleed.
void weight_by_alpha(Image& image, void (*apply)(uint8_t& value, uint32_t alpha)) {
  for (size_t i = 0; i < image.pixels.size(); i += 4) {
    for (size_t c = 0; c < 3; ++c) apply(image.pixels[i + c], image.pixels[i + 3]);
  }
}

/// value * alpha / 255, rounded to nearest.
void premultiply(uint8_t& value, uint32_t alpha) {
  const uint32_t product = value * alpha + 128;
  value = static_cast<uint8_t>((product + (product >> 8)) >> 8);
}

void divide_by_alpha(uint8_t& value, uint32_t alpha) {
  if (alpha != 0) value = static_cast<uint8_t>(std::min(255u, 255u * value / alpha));
}

/// Two passes with 8 bits between them, first along the rows; only a very tall image is first made lower. Pillow up to
/// version 12; version 13 takes the order that costs less, which moves values by a step or two.
Image resize_area(Image image, int64_t height, int64_t width, const Resampling& resampling) {
  const bool has_alpha = image.channels == 4, is_tall = image.height > 100 * image.width && height < image.height;
  if (has_alpha) weight_by_alpha(image, premultiply);
  if (is_tall) image = resize_height(image, height, resampling);
  if (width != image.width) image = resize_width(image, width, resampling);
  if (height != image.height) image = resize_height(image, height, resampling);
  if (has_alpha) weight_by_alpha(image, divide_by_alpha);
  return image;
}

/// The two passes in float, row by row, rounded once at the end.
Image resize_points(const Image& image, int64_t height, int64_t width, const Resampling& resampling) {
  const Taps down = make_taps(image.height, height, resampling), across = make_taps(image.width, width, resampling);
  const int64_t channels = image.channels, row_size = image.width * channels;
  std::vector<float> blended(static_cast<size_t>(row_size));
  Image out = blank(height, width, channels);
  for (int64_t y = 0; y < height; ++y) {
    std::fill(blended.begin(), blended.end(), 0.0f);
    for (int32_t t = 0; t < down.count[static_cast<size_t>(y)]; ++t) {
      const uint8_t* from = row_of(image, down.first[static_cast<size_t>(y)] + t);
      const auto weight = static_cast<float>(down.weights[static_cast<size_t>(y * down.stride + t)]);
      for (int64_t i = 0; i < row_size; ++i) blended[static_cast<size_t>(i)] += weight * from[i];
    }
    uint8_t* to = row_of(out, y);
    for (int64_t i = 0; i < width * channels; ++i) {
      const auto x = static_cast<size_t>(i / channels);
      const float* from = blended.data() + across.first[x] * channels + i % channels;
      const double* weights = across.weights.data() + static_cast<int64_t>(x) * across.stride;
      float sum = 0;
      for (int32_t t = 0; t < across.count[x]; ++t) sum += static_cast<float>(weights[t]) * from[t * channels];
      to[i] = static_cast<uint8_t>(std::clamp(numeric::round_half_even(sum), 0.0f, 255.0f));
    }
  }
  return out;
}

}  // namespace

bool can_resize(const Image& image, int64_t height, int64_t width) {
  return width <= kMaxPixels / std::max(height, image.height);
}

Image resize_image(const Image& image, int64_t height, int64_t width, const Resampling& resampling) {
  if (height == image.height && width == image.width) return image;
  if (resampling.interpolation == Interpolation::kNearest) {
    return copy_nearest(image, height, width, resampling.antialias);
  }
  return resampling.antialias ? resize_area(image, height, width, resampling)
                              : resize_points(image, height, width, resampling);
}

}  // namespace quarkq::calib
