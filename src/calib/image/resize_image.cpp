// SPDX-License-Identifier: MIT
#include "calib/image/resize_image.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "calib/image/resize_loops.h"
#include "numeric/real_numbers.h"

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

namespace {

using config::Interpolation;

/// Keys' cubic convolution kernel with slope `a` at distance 1.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

/// The kernel spread over the area that shrinks: each output pixel averages what falls into its window.
Taps area_taps(int64_t in, int64_t out, Interpolation interpolation) {
  const bool is_cubic = interpolation == Interpolation::kBicubic;
  const double scale = static_cast<double>(in) / static_cast<double>(out), spread = std::max(scale, 1.0);
  const double support = (is_cubic ? 2.0 : 1.0) * spread, shrink = 1.0 / spread;
  Taps taps;
  taps.stride = std::min(in, static_cast<int64_t>(std::ceil(support)) * 2 + 1);
  taps.weights.resize(static_cast<size_t>(out * taps.stride));
  for (int64_t i = 0; i < out; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const int64_t first = std::max(int64_t{0}, static_cast<int64_t>(center - support + 0.5));
    const int64_t end = std::min(in, static_cast<int64_t>(center + support + 0.5));
    double* weights = taps.weights.data() + i * taps.stride;
    double sum = 0;
    for (int64_t t = 0; t < end - first; ++t) {
      const double distance = (static_cast<double>(first + t) - center + 0.5) * shrink;
      weights[t] = is_cubic ? cubic(distance, -0.5) : triangle(distance);
      sum += weights[t];
    }
    for (int64_t t = 0; t < end - first; ++t) weights[t] /= sum;
    taps.first.push_back(static_cast<int32_t>(first));
    taps.count.push_back(static_cast<int32_t>(end - first));
  }
  return taps;
}

/// The kernel over the 2 or 4 nearest pixels, whatever the scale; beyond the border the outermost pixel is repeated.
Taps point_taps(int64_t in, int64_t out, Interpolation interpolation) {
  const bool is_cubic = interpolation == Interpolation::kBicubic;
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  Taps taps;
  taps.stride = 4;
  taps.weights.resize(static_cast<size_t>(out * taps.stride));
  for (int64_t i = 0; i < out; ++i) {
    const double place = (static_cast<double>(i) + 0.5) * scale - 0.5;
    const auto nearest = static_cast<int64_t>(std::floor(place));
    const int64_t begin = nearest - (is_cubic ? 1 : 0), end = nearest + (is_cubic ? 3 : 2);
    const int64_t first = std::clamp(begin, int64_t{0}, in - 1), last = std::clamp(end - 1, int64_t{0}, in - 1);
    for (int64_t x = begin; x < end; ++x) {
      const double distance = place - static_cast<double>(x);
      const int64_t t = std::clamp(x, int64_t{0}, in - 1) - first;
      taps.weights[static_cast<size_t>(i * taps.stride + t)] += is_cubic ? cubic(distance, -0.75) : triangle(distance);
    }
    taps.first.push_back(static_cast<int32_t>(first));
    taps.count.push_back(static_cast<int32_t>(last - first + 1));
  }
  return taps;
}

}  // namespace

Taps make_taps(int64_t in, int64_t out, const Resampling& resampling) {
  return resampling.antialias ? area_taps(in, out, resampling.interpolation)
                              : point_taps(in, out, resampling.interpolation);
}

std::vector<int64_t> nearest_pixels(int64_t in, int64_t out, bool antialias) {
  std::vector<int64_t> pixels(static_cast<size_t>(out));
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double step = 1.0 / (static_cast<double>(out) / static_cast<double>(in));  // OpenCV's scale, rounded twice
  double center = 0.5 * scale;  // Pillow adds up the steps, and so sometimes gets another pixel
  for (int64_t i = 0; i < out; ++i, center += scale) {
    const double place = antialias ? center : static_cast<double>(i) * step;
    pixels[static_cast<size_t>(i)] = std::min(in - 1, static_cast<int64_t>(place));
  }
  return pixels;
}

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
