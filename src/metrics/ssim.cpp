// SPDX-License-Identifier: MIT
#include "metrics/ssim.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "metrics/ssim_loops.h"

namespace quarkq::metrics {
namespace {

constexpr double kC1 = 6.5025, kC2 = 58.5225;  // (0.01 * 255)^2, (0.03 * 255)^2
constexpr double kGuard = 1e-10;               // the reference adds it to the denominator
constexpr int64_t kTileWidth = 1024;           // 11 rows of 5 moments stay within a second-level cache

/// By distance from the middle.
std::array<double, kWindowRadius + 1> gaussian() {
  constexpr double kSigma = 1.5;
  std::array<double, kWindowRadius + 1> weights{};
  double sum = 0;
  for (int64_t d = 0; d <= kWindowRadius; ++d) {
    double& weight = weights[static_cast<size_t>(d)];
    weight = std::exp(static_cast<double>(-d * d) / (2 * kSigma * kSigma));
    sum += d == 0 ? weight : 2 * weight;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// Index inside [0, size) after reflection at the ends, which are not repeated: -1 -> 1.
int64_t reflect(int64_t index, int64_t size) {
  if (size == 1) return 0;
  while (index < 0 || index >= size) index = index < 0 ? -index : 2 * (size - 1) - index;
  return index;
}

/// A row of an array, and where its pixels lie.
struct Row {
  const double* begin;
  int64_t stride, width;

  double at(int64_t x) const { return begin[reflect(x, width) * stride]; }
};

/// Pixels [first - 5, last + 5) of a row, less `offset`.
void copy_padded(const Row& row, int64_t first, int64_t last, double offset, double* out) {
  const int64_t inner_begin = std::max(first - kWindowRadius, int64_t{0});
  const int64_t inner_end = std::min(last + kWindowRadius, row.width);
  for (int64_t x = first - kWindowRadius; x < inner_begin; ++x) *out++ = row.at(x) - offset;
  const double* from = row.begin + inner_begin * row.stride;
  for (int64_t x = inner_begin; x < inner_end; ++x, from += row.stride) *out++ = *from - offset;
  for (int64_t x = inner_end; x < last + kWindowRadius; ++x) *out++ = row.at(x) - offset;
}

double mean(const double* image, const ImageSplit& split) {
  double sum = 0;
  for (int64_t y = 0; y < split.height; ++y) {
    const double* row = image + y * split.row_stride;
    for (int64_t x = 0; x < split.width; ++x) sum += row[x * split.column_stride];
  }
  return sum / static_cast<double>(split.height * split.width);
}

/// A stretch of columns of one image of both arrays, walked from top to bottom. Windows of a row need the moments of
/// the 11 rows around it: they are kept in a ring. (Rows that reflection names lie among them, or there are fewer.)
class Tile {
 public:
  Tile(const ImageSplit& split, const SimilarityTerms& terms)
      : split_(split), terms_(terms), widest_(std::min(split.width, kTileWidth)) {
    const auto width = static_cast<size_t>(widest_), padded = width + 2 * kWindowRadius;
    scratch_.resize(padded * kMoments);
    ring_.resize(width * kMoments * static_cast<size_t>(std::min(split.height, kWindowSize)));
    moments_.resize(width * kMoments);
  }

  double sum(const double* a, const double* b, int64_t first, int64_t last) {
    a_ = a, b_ = b, first_ = first, last_ = last;
    const int64_t width = last - first, height = split_.height;
    double total = 0;
    for (int64_t y = 0, known = 0; y < height; ++y) {
      for (; known < std::min(y + kWindowRadius + 1, height); ++known) blur_row(known);
      if (height == 1) {  // reflection gives the row itself 11 times
        total += QQ_DISPATCH(metrics, similarity_sum)(ring_row(0), width, terms_);
        continue;
      }
      const double* rows[kWindowSize];
      for (int64_t k = 0; k < kWindowSize; ++k) rows[k] = ring_row(reflect(y + k - kWindowRadius, height));
      QQ_DISPATCH(metrics, blur_down)(rows, width * kMoments, weights_.data(), moments_.data());
      total += QQ_DISPATCH(metrics, similarity_sum)(moments_.data(), width, terms_);
    }
    return total;
  }

 private:
  double* ring_row(int64_t y) { return ring_.data() + (y % kWindowSize) * widest_ * kMoments; }

  void blur_row(int64_t y) {
    const int64_t padded = last_ - first_ + 2 * kWindowRadius;
    double *a = scratch_.data(), *b = a + padded, *products = b + padded;
    copy_padded({a_ + y * split_.row_stride, split_.column_stride, split_.width}, first_, last_, terms_.offset_a, a);
    copy_padded({b_ + y * split_.row_stride, split_.column_stride, split_.width}, first_, last_, terms_.offset_b, b);
    QQ_DISPATCH(metrics, blur_across)({a, b, last_ - first_}, weights_.data(), products, ring_row(y));
  }

  const ImageSplit& split_;
  const SimilarityTerms& terms_;
  int64_t widest_;
  const std::array<double, kWindowRadius + 1> weights_ = gaussian();
  const double *a_ = nullptr, *b_ = nullptr;
  int64_t first_ = 0, last_ = 0;
  std::vector<double> scratch_, ring_, moments_;
};

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
  const bool is_central = moments == WindowMoments::kCentral;
  SimilarityTerms terms{kC1, kC2, is_central ? 0 : kGuard, is_central};
  Tile tile(split, terms);
  double sum = 0;
  for (int64_t image = 0; image < split.images; ++image) {
    const int64_t offset = image * split.image_stride;
    if (is_central) {  // E[xx] - E[x]^2 of values far from 0 would lose all digits
      terms.offset_a = mean(a.data() + offset, split);
      terms.offset_b = mean(b.data() + offset, split);
    }
    for (int64_t x = 0; x < split.width; x += kTileWidth) {
      sum += tile.sum(a.data() + offset, b.data() + offset, x, std::min(x + kTileWidth, split.width));
    }
  }
  return sum / static_cast<double>(a.size());
}

}  // namespace quarkq::metrics
