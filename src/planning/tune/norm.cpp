// SPDX-License-Identifier: MIT
// Norms whose scales are learned: what they multiply does not depend on the scales.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "planning/tune/block.h"
#include "planning/tune/train_loops.h"

namespace quarkq::planning::finetune {
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

void normalize_instances(const float* x, const InstanceShape& shape, float epsilon, std::vector<float>& y) {
  const int64_t instances = shape.instances, positions = shape.positions, channels = shape.channels;
  const int64_t size = positions * channels;
  parallel_for(instances * channels, [&](int64_t i) {
    const int64_t from = i / channels * size + i % channels;
    normalize(x + from, y.data() + from, positions, channels, epsilon);
  });
}

void normalize_rows(const float* x, int64_t rows, int64_t channels, float epsilon, std::vector<float>& y) {
  parallel_for(rows, [&](int64_t i) { normalize(x + i * channels, y.data() + i * channels, channels, 1, epsilon); });
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
  const auto channels = static_cast<int64_t>(sums.size()), rows = static_cast<int64_t>(dy.size()) / channels;
  const int64_t step = std::max<int64_t>(1, kResultChunk / channels), chunks = (rows + step - 1) / step;
  std::vector<double> parts(static_cast<size_t>(chunks * channels));
  parallel_for(chunks, [&](int64_t i) {
    const int64_t first = i * step * channels;
    QQ_DISPATCH(planning, add_rows)
    (dy.data() + first, x == nullptr ? nullptr : x->data() + first, std::min(step, rows - i * step), channels,
     parts.data() + i * channels);
  });
  for (size_t c = 0; c < sums.size(); ++c) {
    double found = 0;
    for (size_t i = c; i < parts.size(); i += sums.size()) found += parts[i];
    sums[c] += factor * static_cast<float>(found);
  }
}

}  // namespace quarkq::planning::finetune
