// SPDX-License-Identifier: MIT
#include "exec/convolution.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/hash.h"
#include "base/isa.h"
#include "base/parallel.h"
#include "base/shared_cache.h"
#include "exec/kernels/elementwise/unary_loops.h"
#include "exec/kernels/image/image_loops.h"

namespace quarkq::exec {
namespace {

using Axes = std::array<int64_t, 3>;  ///< of spatial axes; with fewer, the first ones are filled

int64_t volume(const Axes& axes) { return axes[0] * axes[1] * axes[2]; }
int64_t place(const Axes& extent, int64_t a, int64_t b, int64_t c) { return (a * extent[1] + b) * extent[2] + c; }

Axes axes_of(const std::vector<int64_t>& list, size_t first, int64_t fill) {
  Axes axes = {fill, fill, fill};
  std::copy(list.begin() + static_cast<int64_t>(first), list.end(),
            axes.end() - static_cast<int64_t>(list.size() - first));
  return axes;
}

int64_t rounded_up(int64_t count, int64_t block) { return (count + block - 1) / block * block; }

/// Sizes of a problem, and where its windows are in the padded image.
struct Geometry {
  int64_t images, inputs, outputs;
  Axes source, kernel, result, strides, dilations, pads;

  explicit Geometry(const ConvProblem& p)
      : images(p.source[0]),
        inputs(p.source[1]),
        outputs(p.result[1]),
        source(axes_of(p.source, 2, 1)),
        kernel(axes_of(p.weights, 2, 1)),
        result(axes_of(p.result, 2, 1)),
        strides(axes_of(p.strides, 0, 1)),
        dilations(axes_of(p.dilations, 0, 1)),
        pads(axes_of(p.pads_begin, 0, 0)) {}

  bool sums_over_lanes() const { return outputs <= kFewOutputs && inputs >= kInputBlock / 2; }
  /// Input channels of the padded image.
  int64_t channels() const { return sums_over_lanes() ? rounded_up(inputs, kInputBlock) : inputs; }
  int64_t padded_outputs() const { return rounded_up(outputs, kOutputBlock); }
  int64_t packed_size() const { return volume(kernel) * channels() * (sums_over_lanes() ? outputs : padded_outputs()); }

  /// The part of an axis that windows cover.
  int64_t covered(size_t axis) const {
    return (result[axis] - 1) * strides[axis] + dilations[axis] * (kernel[axis] - 1) + 1;
  }
  bool copies() const {
    for (size_t i = 0; i < 3; ++i) {
      if (pads[i] > 0 || covered(i) > source[i]) return true;
    }
    return channels() != inputs;
  }
  /// Extents of the image that windows are read from.
  Axes padded() const { return copies() ? Axes{covered(0), covered(1), covered(2)} : source; }
};

/// Element of the weights, in the caller's order, for an output, a tap and an input channel.
class GivenWeights {
 public:
  GivenWeights(const ConvProblem& p, const float* data) : data_(data), strides_(p.weight_strides) {
    if (strides_.empty()) {
      strides_.assign(p.weights.size(), 1);
      for (size_t i = p.weights.size() - 1; i-- > 0;) strides_[i] = strides_[i + 1] * p.weights[i + 1];
    }
    taps_ = axes_of(strides_, 2, 0);
  }
  float at(int64_t output, const Axes& tap, int64_t input) const {
    return data_[output * strides_[0] + input * strides_[1] + tap[0] * taps_[0] + tap[1] * taps_[1] +
                 tap[2] * taps_[2]];
  }

 private:
  const float* data_;
  ir::Shape strides_;
  Axes taps_;
};

/// Writes the weights as the loops read them. Channels beyond the last have zeros.
void pack(const Geometry& g, const GivenWeights& given, float* packed) {
  const int64_t channels = g.channels(), taps = volume(g.kernel), outputs = g.outputs;
  std::fill_n(packed, g.packed_size(), 0.0f);
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t t = 0; t < taps; ++t) {
      const Axes tap = {t / (g.kernel[1] * g.kernel[2]), t / g.kernel[2] % g.kernel[1], t % g.kernel[2]};
      for (int64_t i = 0; i < g.inputs; ++i) {
        const int64_t row = t * channels + i;
        const int64_t to = g.sums_over_lanes()
                               ? (row / kInputBlock * outputs + o) * kInputBlock + row % kInputBlock
                               : (o / kOutputBlock * taps * channels + row) * kOutputBlock + o % kOutputBlock;
        packed[to] = given.at(o, tap, i);
      }
    }
  }
}

/// Returns a key of the packed weights: equal weights of equal problems are packed once.
std::string key_of_weights(const ConvProblem& p, const float* data) {
  ContentHash hash;
  for (const ir::Shape& dims : {p.weights, p.weight_strides}) {
    hash.add({reinterpret_cast<const char*>(dims.data()), dims.size() * sizeof(dims[0])});
  }
  size_t count = 1;
  for (const int64_t dim : p.weights) count *= static_cast<size_t>(dim);
  hash.add(data, count * sizeof(float));
  return hash.text();
}

/// Copies an image into one with zeros around it and behind its last channel.
void pad_image(const Geometry& g, const float* source, float* padded) {
  const int64_t channels = g.channels();
  const Axes extent = g.padded();
  parallel_for(extent[0] * extent[1], [&](int64_t row) {
    float* to = padded + row * extent[2] * channels;
    std::fill_n(to, extent[2] * channels, 0.0f);
    const int64_t a = row / extent[1] - g.pads[0], b = row % extent[1] - g.pads[1];
    if (a < 0 || a >= g.source[0] || b < 0 || b >= g.source[1]) return;
    const float* from = source + place(g.source, a, b, 0) * g.inputs;
    to += g.pads[2] * channels;
    const int64_t count = std::min(g.source[2], extent[2] - g.pads[2]);
    if (channels == g.inputs) {
      std::copy_n(from, std::max<int64_t>(count, 0) * channels, to);
    } else {
      for (int64_t c = 0; c < count; ++c) std::copy_n(from + c * g.inputs, g.inputs, to + c * channels);
    }
  });
}

/// Applies what is fused after the convolution to `count` results, which begin at element `at` of the result.
void apply_followers(const std::vector<PostOp>& post_ops, const ConvBuffers& b, int64_t at, int64_t count) {
  float* y = b.result + at;
  size_t added = 0;
  for (const PostOp& post : post_ops) {
    switch (post.kind) {
      case PostOp::Kind::kClip: QQ_DISPATCH(exec, unary_loop)({Unary::kClip, post.low, post.high}, y, y, count); break;
      case PostOp::Kind::kLeakyRelu: QQ_DISPATCH(exec, unary_loop)({Unary::kLeakyRelu, post.slope}, y, y, count); break;
      case PostOp::Kind::kAdd: {
        const float* other = b.added[added++] + at;
        for (int64_t i = 0; i < count; ++i) y[i] += other[i];
        break;
      }
    }
  }
}

/// Positions and output channels of one piece of work.
constexpr int64_t kPositions = 96, kChannels = 4 * kOutputBlock;

class DirectConvolution : public Convolution {
 public:
  DirectConvolution(const ConvProblem& problem, const float* weights) : problem_(problem), geometry_(problem) {
    const Axes extent = geometry_.padded();
    // Taps next to each other along the last axis are one run of memory.
    const Axes &k = geometry_.kernel, &d = geometry_.dilations;
    const int64_t joined = d[2] == 1 ? k[2] : 1;
    run_length_ = joined * geometry_.channels();
    for (int64_t t = 0; t < volume(k); t += joined) {
      const int64_t a = t / (k[1] * k[2]), b = t / k[2] % k[1], c = t % k[2];
      runs_.push_back(place(extent, a * d[0], b * d[1], c * d[2]) * geometry_.channels());
    }
    const auto packed_count = static_cast<size_t>(geometry_.packed_size());
    if (weights != nullptr) {
      static SharedCache<std::vector<float>> all;
      weights_ = all.get(key_of_weights(problem, weights), [&] {
        auto packed = std::make_shared<std::vector<float>>(packed_count);
        pack(geometry_, GivenWeights(problem, weights), packed->data());
        return packed;
      });
    }
    padded_count_ = geometry_.copies() ? volume(extent) * geometry_.channels() : 0;
    packed_count_ = weights == nullptr ? geometry_.packed_size() : 0;
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(padded_count_ + packed_count_ + geometry_.padded_outputs()) * sizeof(float);
  }

  void run(const ConvBuffers& b) override {
    const Geometry& g = geometry_;
    auto* padded = reinterpret_cast<float*>(b.scratch);
    float* const packed = padded + padded_count_;
    float* const bias = packed + packed_count_;
    if (weights_ == nullptr) pack(g, GivenWeights(problem_, b.weights), packed);
    std::fill_n(bias, g.padded_outputs(), 0.0f);
    if (b.bias != nullptr) std::copy_n(b.bias, g.outputs, bias);
    const int64_t source_size = volume(g.source) * g.inputs, result_size = volume(g.result) * g.outputs;
    DirectRows rows;
    rows.runs = runs_.data();
    rows.run_count = static_cast<int64_t>(runs_.size());
    rows.run_length = run_length_;
    rows.weights = weights_ == nullptr ? packed : weights_->data();
    rows.bias = bias;
    rows.outputs = g.outputs;
    for (int64_t image = 0; image < g.images; ++image) {
      rows.padded = b.source + image * source_size;
      if (g.copies()) {
        pad_image(g, rows.padded, padded);
        rows.padded = padded;
      }
      run_image(rows, b, image * result_size);
    }
  }

 private:
  /// Results from element `first` of the result on.
  void run_image(const DirectRows& image, const ConvBuffers& b, int64_t first) const {
    const Geometry& g = geometry_;
    const int64_t positions = volume(g.result), parts = (g.outputs + kChannels - 1) / kChannels;
    const int64_t pieces = (positions + kPositions - 1) / kPositions;
    parallel_for(pieces * parts, [&](int64_t i) {
      const int64_t position = i / parts * kPositions, channel = i % parts * kChannels;
      std::array<int64_t, kPositions> starts;
      DirectRows rows = image;
      rows.starts = starts.data();
      rows.count = std::min(kPositions, positions - position);
      for (int64_t k = 0; k < rows.count; ++k) starts[static_cast<size_t>(k)] = window(position + k);
      const int64_t end = std::min(channel + kChannels, g.outputs), at = first + position * g.outputs;
      if (g.sums_over_lanes()) {
        QQ_DISPATCH(exec, sum_few_outputs)(rows, b.result + at);
      } else {
        QQ_DISPATCH(exec, sum_outputs)(rows, channel, end, b.result + at);
      }
      if (problem_.post_ops.empty()) return;
      if (parts == 1) return apply_followers(problem_.post_ops, b, at, rows.count * g.outputs);
      for (int64_t k = 0; k < rows.count; ++k)
        apply_followers(problem_.post_ops, b, at + k * g.outputs + channel, end - channel);
    });
  }

  /// Element of the padded image where the window of a position begins.
  int64_t window(int64_t position) const {
    const Axes& r = geometry_.result;
    const Axes& s = geometry_.strides;
    const int64_t a = position / (r[1] * r[2]), b = position / r[2] % r[1], c = position % r[2];
    return place(geometry_.padded(), a * s[0], b * s[1], c * s[2]) * geometry_.channels();
  }

  ConvProblem problem_;
  Geometry geometry_;
  std::vector<int64_t> runs_;
  int64_t run_length_ = 0;
  std::shared_ptr<const std::vector<float>> weights_;  ///< null: packed in each call
  int64_t padded_count_ = 0, packed_count_ = 0;        ///< floats in scratch
};

}  // namespace

bool takes_direct(const ConvProblem& p) {
  if (p.groups != 1 || p.transposed || p.source.size() < 3) return false;
  const Geometry g(p);
  if (volume(g.kernel) < 2) return false;
  // Wide pads would make a large image of a small one.
  constexpr double kMostPadded = 1 << 20;
  double padded = 1, source = 1;
  for (size_t i = 0; i < 3; ++i) {
    padded *= static_cast<double>(g.covered(i));
    source *= static_cast<double>(g.source[i]);
  }
  return padded * static_cast<double>(g.channels()) <=
         std::max(kMostPadded, 4 * source * static_cast<double>(g.inputs));
}

std::shared_ptr<Convolution> direct_convolution(const ConvProblem& problem, const float* weights) {
  return std::make_shared<DirectConvolution>(problem, weights);
}

ConvProblem product_problem(int64_t m, int64_t k, int64_t n, int64_t stride_k, int64_t stride_n) {
  ConvProblem problem;
  problem.source = {1, k, m, 1};
  problem.weights = {n, k, 1, 1};
  problem.result = {1, n, m, 1};
  problem.strides = problem.dilations = {1, 1};
  problem.pads_begin = problem.pads_end = {0, 0};
  problem.weight_strides = {stride_n, stride_k, 1, 1};
  return problem;
}

/// Without AVX-512 our direct form is as fast as oneDNN 2.6 or faster: that reaches 15 to 60 % of its speed with a
/// stride, with few input channels under a wide kernel, and with few output channels. Sums of a few products, such as
/// those of a first layer with three colours, do not pay for a window of their own. For up to four output channels
/// oneDNN fills a tenth of its vectors on every machine (docs/adr/0001-channels-last.md).
Result<std::shared_ptr<Convolution>> Convolution::make(const ConvProblem& problem, const float* weights) {
  constexpr int64_t kShortSum = 64;
  if (takes_direct(problem)) {
    const Geometry g(problem);
    const bool is_long = g.inputs * volume(g.kernel) >= kShortSum;
    if (is_long && (isa() != Isa::kAvx512 || g.sums_over_lanes())) return direct_convolution(problem, weights);
  }
  return onednn_convolution(problem, weights);
}

}  // namespace quarkq::exec
