// SPDX-License-Identifier: MIT
#include "calib/image/resize_taps.h"

#include <algorithm>
#include <cmath>

namespace quarkq::calib {
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

}  // namespace quarkq::calib
