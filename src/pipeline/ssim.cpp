// SPDX-License-Identifier: MIT
#include "pipeline/ssim.h"

#include <array>
#include <cmath>

namespace quarkq::pipeline {
namespace {

constexpr double kC1 = 6.5025, kC2 = 58.5225;  // (0.01 * 255)^2, (0.03 * 255)^2
constexpr double kGuard = 1e-10;               // the reference adds it to the denominator
constexpr int kRadius = 5;
using Kernel = std::array<double, 2 * kRadius + 1>;

Kernel gaussian() {
  constexpr double kSigma = 1.5;
  Kernel kernel{};
  double sum = 0;
  for (int i = -kRadius; i <= kRadius; ++i)
    sum += kernel[static_cast<size_t>(i + kRadius)] = std::exp(-i * i / (2 * kSigma * kSigma));
  for (double& weight : kernel) weight /= sum;
  return kernel;
}

/// Index inside [0, size) after reflection at the ends, which are not repeated: -1 -> 1.
int64_t reflect(int64_t index, int64_t size) {
  if (size == 1) return 0;
  while (index < 0 || index >= size) index = index < 0 ? -index : 2 * (size - 1) - index;
  return index;
}

/// One image, or something computed per pixel of one.
struct Plane {
  int64_t height = 0, width = 0;
  std::vector<double> pixels;

  Plane(int64_t rows, int64_t columns) : height(rows), width(columns), pixels(static_cast<size_t>(rows * columns)) {}
  double* row(int64_t y) { return pixels.data() + y * width; }
  const double* row(int64_t y) const { return pixels.data() + y * width; }
};

void blur_row(const double* in, double* out, int64_t width, const Kernel& kernel, std::vector<double>& padded) {
  padded.resize(static_cast<size_t>(width) + 2 * kRadius);
  for (int64_t x = -kRadius; x < width + kRadius; ++x) padded[static_cast<size_t>(x + kRadius)] = in[reflect(x, width)];
  for (int64_t x = 0; x < width; ++x) out[x] = 0;
  for (size_t k = 0; k < kernel.size(); ++k) {
    for (int64_t x = 0; x < width; ++x) out[x] += kernel[k] * padded[static_cast<size_t>(x) + k];
  }
}

Plane blurred(const Plane& in) {
  static const Kernel kKernel = gaussian();
  Plane across(in.height, in.width), out(in.height, in.width);
#pragma omp parallel
  {
    std::vector<double> padded;
#pragma omp for schedule(static)
    for (int64_t y = 0; y < in.height; ++y) blur_row(in.row(y), across.row(y), in.width, kKernel, padded);
#pragma omp for schedule(static)
    for (int64_t y = 0; y < in.height; ++y) {
      double* to = out.row(y);
      for (int k = -kRadius; k <= kRadius; ++k) {
        const double* from = across.row(reflect(y + k, in.height));
        const double weight = kKernel[static_cast<size_t>(k + kRadius)];
        for (int64_t x = 0; x < in.width; ++x) to[x] += weight * from[x];
      }
    }
  }
  return out;
}

Plane product(const Plane& a, const Plane& b) {
  Plane out(a.height, a.width);
  for (size_t i = 0; i < out.pixels.size(); ++i) out.pixels[i] = a.pixels[i] * b.pixels[i];
  return out;
}

Plane image_of(std::span<const double> values, const ImageSplit& split, int64_t image) {
  Plane plane(split.height, split.width);
  const double* begin = values.data() + image * split.image_stride;
  for (int64_t y = 0; y < split.height; ++y) {
    for (int64_t x = 0; x < split.width; ++x) plane.row(y)[x] = begin[y * split.row_stride + x * split.column_stride];
  }
  return plane;
}

/// Sum of the similarity map.
///   central: (2 mx my + C1)(2 sxy + C2) / ((mx^2 + my^2 + C1)(sxx + syy + C2)), s.. = E[..] - m. m.
///   raw:     the same with E[..] for s.., and 1e-10 added to the denominator
double similarity_sum(const Plane& a, const Plane& b, WindowMoments moments) {
  const Plane mean_a = blurred(a), mean_b = blurred(b);
  const Plane aa = blurred(product(a, a)), bb = blurred(product(b, b)), ab = blurred(product(a, b));
  const bool central = moments == WindowMoments::kCentral;
  double sum = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i) {
    const double ma = mean_a.pixels[i], mb = mean_b.pixels[i];
    const double covariance = ab.pixels[i] - (central ? ma * mb : 0);
    const double variances = aa.pixels[i] + bb.pixels[i] - (central ? ma * ma + mb * mb : 0);
    sum += (2 * ma * mb + kC1) * (2 * covariance + kC2) /
           ((ma * ma + mb * mb + kC1) * (variances + kC2) + (central ? 0 : kGuard));
  }
  return sum;
}

}  // namespace

ImageSplit split_images(const ir::Shape& dims) {
  const size_t rank = dims.size();
  ImageSplit split;
  if (rank == 3) return {dims[2], dims[0], dims[1], 1, dims[1] * dims[2], dims[2]};
  if (rank >= 1) split.width = dims[rank - 1];
  if (rank >= 2) split.height = dims[rank - 2];
  for (size_t i = 0; i + 2 < rank; ++i) split.images *= dims[i];
  split.row_stride = split.width;
  split.image_stride = split.width * split.height;
  return split;
}

double ssim(std::span<const double> a, std::span<const double> b, const ImageSplit& split, WindowMoments moments) {
  double sum = 0;
  for (int64_t image = 0; image < split.images; ++image) {
    sum += similarity_sum(image_of(a, split, image), image_of(b, split, image), moments);
  }
  return sum / static_cast<double>(a.size());
}

}  // namespace quarkq::pipeline
