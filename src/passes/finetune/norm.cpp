// SPDX-License-Identifier: MIT
// Norms whose scales are learned: what they multiply does not depend on the scales.
#include <cmath>

#include "passes/finetune/block.h"

namespace quarkq::passes::finetune {
namespace {

/// `count` values, `stride` apart, without their mean and over their deviation.
void normalize(const float* x, float* y, int64_t count, int64_t stride, float epsilon) {
  double sum = 0, square = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i * stride]);
  const double mean = sum / static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) {
    const double off = static_cast<double>(x[i * stride]) - mean;
    square += off * off;
  }
  const double scale = 1 / std::sqrt(square / static_cast<double>(count) + static_cast<double>(epsilon));
  for (int64_t i = 0; i < count; ++i)
    y[i * stride] = static_cast<float>((static_cast<double>(x[i * stride]) - mean) * scale);
}

}  // namespace

void normalize_instances(const float* x, int64_t instances, int64_t positions, int64_t channels, float epsilon,
                         std::vector<float>& y) {
  const int64_t size = positions * channels;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < instances * channels; ++i) {
    const int64_t from = i / channels * size + i % channels;
    normalize(x + from, y.data() + from, positions, channels, epsilon);
  }
}

void normalize_rows(const float* x, int64_t rows, int64_t channels, float epsilon, std::vector<float>& y) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows; ++i) normalize(x + i * channels, y.data() + i * channels, channels, 1, epsilon);
}

void scale_channels(const std::vector<float>& x, const std::vector<float>& weights, const std::vector<float>* bias,
                    std::vector<float>& y) {
  for (size_t i = 0; i < x.size(); i += weights.size()) {
    for (size_t c = 0; c < weights.size(); ++c)
      y[i + c] = x[i + c] * weights[c] + (bias == nullptr ? 0.0f : (*bias)[c]);
  }
}

void add_channel_sums(const std::vector<float>& dy, const std::vector<float>* x, float factor,
                      std::vector<float>& sums) {
  std::vector<double> found(sums.size());
  for (size_t i = 0; i < dy.size(); i += sums.size()) {
    for (size_t c = 0; c < sums.size(); ++c)
      found[c] += static_cast<double>(dy[i + c]) * (x == nullptr ? 1.0 : static_cast<double>((*x)[i + c]));
  }
  for (size_t c = 0; c < sums.size(); ++c) sums[c] += factor * static_cast<float>(found[c]);
}

}  // namespace quarkq::passes::finetune
