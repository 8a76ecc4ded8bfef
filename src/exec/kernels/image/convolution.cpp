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
#include "exec/kernels/shared/kernel_shapes.h"
#include "exec/kernels/shared/support.h"

namespace quarkq::exec {
namespace {

int64_t rounded_up(int64_t count, int64_t block) { return (count + block - 1) / block * block; }

/// Sizes of a problem, and where its windows are in the padded image.
struct Geometry {
  int64_t images, inputs, outputs;
  Grid source, kernel, result;
  Position strides, dilations, pads;

  explicit Geometry(const ConvProblem& p)
      : images(p.source[0]),
        inputs(p.source[1]),
        outputs(p.result[1]),
        source{three_axes(p.source, 2, 1)},
        kernel{three_axes(p.weights, 2, 1)},
        result{three_axes(p.result, 2, 1)},
        strides(three_axes(p.strides, 0, 1)),
        dilations(three_axes(p.dilations, 0, 1)),
        pads(three_axes(p.pads_begin, 0, 0)) {}

  bool sums_over_lanes() const { return outputs <= kFewOutputs && inputs >= kInputBlock / 2; }
  /// Input channels of the padded image.
  int64_t channels() const { return sums_over_lanes() ? rounded_up(inputs, kInputBlock) : inputs; }
  int64_t padded_outputs() const { return rounded_up(outputs, kOutputBlock); }
  int64_t packed_size() const { return kernel.size() * channels() * (sums_over_lanes() ? outputs : padded_outputs()); }

  /// The part of an axis that windows cover.
  int64_t covered(size_t axis) const {
    return (result.extent[axis] - 1) * strides[axis] + dilations[axis] * (kernel.extent[axis] - 1) + 1;
  }
  bool copies() const {
    for (size_t i = 0; i < 3; ++i) {
      if (pads[i] > 0 || covered(i) > source.extent[i]) return true;
    }
    return channels() != inputs;
  }
  /// The image that windows are read from.
  Grid padded() const { return copies() ? Grid{{covered(0), covered(1), covered(2)}} : source; }
};

/// Writes the weights at `given` as the loops read them. Channels beyond the last have zeros.
void pack(const ConvProblem& p, const float* given, float* packed) {
  const Geometry g(p);
  const ir::Shape strides = strides_of_weights(p);
  const Position tap_strides = three_axes(strides, 2, 0);
  const int64_t channels = g.channels(), taps = g.kernel.size(), outputs = g.outputs;
  std::fill_n(packed, g.packed_size(), 0.0f);
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t t = 0; t < taps; ++t) {
      const Position tap = g.kernel.at(t);
      const float* const from =
          given + o * strides[0] + tap[0] * tap_strides[0] + tap[1] * tap_strides[1] + tap[2] * tap_strides[2];
      for (int64_t i = 0; i < g.inputs; ++i) {
        const int64_t row = t * channels + i;
        const int64_t to = g.sums_over_lanes()
                               ? (row / kInputBlock * outputs + o) * kInputBlock + row % kInputBlock
                               : (o / kOutputBlock * taps * channels + row) * kOutputBlock + o % kOutputBlock;
        packed[to] = from[i * strides[1]];
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
  hash.add(data, static_cast<size_t>(product(p.weights)) * sizeof(float));
  return hash.text();
}

/// Copies an image into one with zeros around it and behind its last channel.
void pad_image(const Geometry& g, const Grid& image, const float* source, float* padded, Team team) {
  const int64_t channels = g.channels(), width = image.extent[2];
  parallel_for(image.extent[0] * image.extent[1], team, [&](int64_t row) {
    float* to = padded + row * width * channels;
    std::fill_n(to, width * channels, 0.0f);
    const int64_t a = row / image.extent[1] - g.pads[0], b = row % image.extent[1] - g.pads[1];
    if (a < 0 || a >= g.source.extent[0] || b < 0 || b >= g.source.extent[1]) return;
    const float* from = source + g.source.index({a, b, 0}) * g.inputs;
    to += g.pads[2] * channels;
    const int64_t count = std::min(g.source.extent[2], width - g.pads[2]);
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
  DirectConvolution(const ConvProblem& problem, const float* weights)
      : problem_(problem),
        geometry_(problem),
        image_(geometry_.padded()),
        team_{.threads = prefers_one_thread(problem) ? 1 : 0} {
    // Taps next to each other along the last axis are one run of memory.
    const Position& dilations = geometry_.dilations;
    const int64_t joined = dilations[2] == 1 ? geometry_.kernel.extent[2] : 1;
    run_length_ = joined * geometry_.channels();
    for (int64_t t = 0; t < geometry_.kernel.size(); t += joined)
      runs_.push_back(element_at(geometry_.kernel.at(t), dilations));
    if (weights != nullptr) {
      static SharedCache<std::vector<float>> all;
      weights_ = all.get(key_of_weights(problem, weights), [&] {
        auto packed = std::make_shared<std::vector<float>>(static_cast<size_t>(geometry_.packed_size()));
        pack(problem, weights, packed->data());
        return packed;
      });
    }
    padded_count_ = geometry_.copies() ? image_.size() * geometry_.channels() : 0;
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
    if (weights_ == nullptr) pack(problem_, b.weights, packed);
    std::fill_n(bias, g.padded_outputs(), 0.0f);
    if (b.bias != nullptr) std::copy_n(b.bias, g.outputs, bias);
    const int64_t source_size = g.source.size() * g.inputs, result_size = g.result.size() * g.outputs;
    DirectRows rows;
    rows.runs = runs_.data();
    rows.run_count = static_cast<int64_t>(runs_.size());
    rows.run_length = run_length_;
    rows.weights = weights_ == nullptr ? packed : weights_->data();
    rows.bias = bias;
    rows.outputs = g.outputs;
    for (int64_t image = 0; image < g.images; ++image) {
      rows.padded = b.source + image * source_size;
      if (padded_count_ > 0) {
        pad_image(g, image_, rows.padded, padded, team_);
        rows.padded = padded;
      }
      run_image(rows, b, image * result_size);
    }
  }

 private:
  /// Results from element `first` of the result on.
  void run_image(const DirectRows& image, const ConvBuffers& b, int64_t first) const {
    const Geometry& g = geometry_;
    const int64_t positions = g.result.size(), parts = (g.outputs + kChannels - 1) / kChannels;
    const int64_t pieces = (positions + kPositions - 1) / kPositions;
    parallel_for(pieces * parts, team_, [&](int64_t i) {
      const int64_t position = i / parts * kPositions, channel = i % parts * kChannels;
      std::array<int64_t, kPositions> starts;
      DirectRows rows = image;
      rows.starts = starts.data();
      rows.count = std::min(kPositions, positions - position);
      for (int64_t k = 0; k < rows.count; ++k)
        starts[static_cast<size_t>(k)] = element_at(g.result.at(position + k), g.strides);
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

  /// Returns the element of the padded image at `position` times `steps`.
  int64_t element_at(const Position& position, const Position& steps) const {
    return image_.index({position[0] * steps[0], position[1] * steps[1], position[2] * steps[2]}) *
           geometry_.channels();
  }

  ConvProblem problem_;
  Geometry geometry_;
  Grid image_;  ///< The padded image.
  Team team_;
  std::vector<int64_t> runs_;
  int64_t run_length_ = 0;
  std::shared_ptr<const std::vector<float>> weights_;  ///< null: packed in each call
  int64_t padded_count_ = 0, packed_count_ = 0;        ///< floats in scratch
};

}  // namespace

bool takes_direct(const ConvProblem& p) {
  if (p.groups != 1 || p.transposed || p.source.size() < 3) return false;
  const Geometry g(p);
  if (g.kernel.size() < 2) return false;
  // Wide pads would make a large image of a small one.
  constexpr double kMostPadded = 1 << 20;
  double padded = 1, source = 1;
  for (size_t i = 0; i < 3; ++i) {
    padded *= static_cast<double>(g.covered(i));
    source *= static_cast<double>(g.source.extent[i]);
  }
  return padded * static_cast<double>(g.channels()) <=
         std::max(kMostPadded, 4 * source * static_cast<double>(g.inputs));
}

std::shared_ptr<Convolution> direct_convolution(const ConvProblem& problem, const float* weights) {
  return std::make_shared<DirectConvolution>(problem, weights);
}

ir::Shape strides_of_weights(const ConvProblem& problem) {
  return problem.weight_strides.empty() ? row_major_strides(problem.weights) : problem.weight_strides;
}

/// Fewer multiplications, some 2 us of work, end sooner on one thread than another thread wakes: networks of many small
/// products took up to 1.6 times as long with two threads as with one.
bool prefers_one_thread(const ConvProblem& p) {
  constexpr double kParallelProducts = 65536;
  double count = 1;
  for (const int64_t dim : p.transposed ? p.source : p.result) count *= static_cast<double>(dim);
  for (size_t i = 1; i < p.weights.size(); ++i) count *= static_cast<double>(p.weights[i]);
  return count < kParallelProducts;
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
    const bool is_long = g.inputs * g.kernel.size() >= kShortSum;
    if (is_long && (isa() != Isa::kAvx512 || g.sums_over_lanes())) return direct_convolution(problem, weights);
  }
  return onednn_convolution(problem, weights);
}

}  // namespace quarkq::exec
