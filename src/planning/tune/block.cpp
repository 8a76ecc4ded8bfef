// SPDX-License-Identifier: MIT
// Every linear layer is a convolution: a product of matrices is one with a 1x1 kernel. A norm scales what it
// normalized.
#include "planning/tune/block.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/parallel.h"
#include "planning/tune/optimizer.h"
#include "planning/tune/train_loops.h"

namespace quarkq::planning::finetune {

namespace {

std::byte* aligned(std::vector<std::byte>& buffer) {
  const auto address = reinterpret_cast<uintptr_t>(buffer.data());
  return buffer.data() + ((address + 63) / 64 * 64 - address);
}

int64_t element_count(const ir::Shape& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

}  // namespace

Status Block::set_convolution(const ir::Node& node, const ir::Shape& weights) {
  const size_t rank = weights.size();
  if (input_.size() != rank) return unsupported("its input has another rank than its weights");
  exec::ConvProblem& p = problem_;
  p.transposed = layer_.kind == Layer::Kind::kConvTranspose;
  p.source = input_;
  p.weights = weights;
  p.groups = node.int_or("group", 1);
  p.strides = node.ints_or("strides", std::vector<int64_t>(rank - 2, 1));
  p.dilations = node.ints_or("dilations", std::vector<int64_t>(rank - 2, 1));
  const std::vector<int64_t> pads = node.ints_or("pads", std::vector<int64_t>(2 * (rank - 2), 0));
  if (p.strides.size() != rank - 2 || p.dilations.size() != rank - 2 || pads.size() != 2 * (rank - 2) || p.groups < 1)
    return unsupported("its attributes do not fit its weights");
  p.pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank - 2));
  p.pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank - 2), pads.end());
  p.result = {input_[0], p.transposed ? weights[1] * p.groups : weights[0]};
  for (size_t i = 0; i + 2 < rank; ++i) {
    const int64_t reach = p.dilations[i] * (weights[i + 2] - 1) + 1, padding = p.pads_begin[i] + p.pads_end[i];
    p.result.push_back(p.transposed ? (input_[i + 2] - 1) * p.strides[i] + reach - padding
                                    : (input_[i + 2] + padding - reach) / p.strides[i] + 1);
    if (p.result.back() < 1) return unsupported("its result is empty");
  }
  return Status();
}

Status Block::set_product(const ir::Shape& weights) {
  if (input_.size() < 2) return unsupported("its input is a vector");
  const int64_t depth = weights[layer_.transposed ? 1 : 0], columns = weights[layer_.transposed ? 0 : 1];
  if (input_.back() != depth) return unsupported("its input does not fit its weights");
  problem_ = exec::product_problem(element_count(input_) / depth, depth, columns, layer_.transposed ? 1 : columns,
                                   layer_.transposed ? depth : 1);
  return Status();
}

Status Block::set_norm(const ir::Node& node, const ir::Shape& weights) {
  const size_t axis = layer_.kind == Layer::Kind::kInstanceNorm ? 1 : input_.size() - 1;
  if (input_.size() < 2 || input_[axis] != weights[0]) return unsupported("its input does not fit its scales");
  epsilon_ = node.float_or("epsilon", 1e-5f);
  channels_ = weights[0];
  result_size_ = element_count(input_);
  if (result_size_ == 0) return unsupported("its input is empty");
  normalized_.resize(static_cast<size_t>(result_size_));
  const bool is_instance = layer_.kind == Layer::Kind::kInstanceNorm;
  inverse_.resize(static_cast<size_t>(is_instance ? input_[0] * channels_ : result_size_ / channels_));
  return Status();
}

Status Block::make_convolution() {
  problem_.has_bias = layer_.bias.valid();
  QQ_TRY(convolution_, exec::Convolution::make(problem_, nullptr));
  exec::ConvProblem backward = problem_;
  backward.has_bias = false;
  QQ_TRY(gradient_, exec::ConvolutionGradient::make(backward));
  channels_ = problem_.result[1];
  result_size_ = element_count(problem_.result);
  scratch_.resize(convolution_->scratch_bytes() + 64);
  return Status();
}

Result<std::unique_ptr<Block>> Block::make(const Layer& layer, const ir::Node& node, const ir::Shape& weights,
                                           const ir::Shape& input) {
  std::unique_ptr<Block> block(new Block(layer, input));
  if (layer.is_norm()) {
    QQ_RETURN_IF_ERROR(block->set_norm(node, weights));
  } else {
    QQ_RETURN_IF_ERROR(layer.kind == Layer::Kind::kProduct ? block->set_product(weights)
                                                           : block->set_convolution(node, weights));
    QQ_RETURN_IF_ERROR(block->make_convolution());
    block->fresh_.resize(static_cast<size_t>(element_count(weights)));
  }
  if (layer.activation.kind != Activation::Kind::kNone) block->before_.resize(static_cast<size_t>(block->result_size_));
  return block;
}

ir::Shape Block::result() const {
  if (layer_.is_norm()) return input_;
  if (layer_.kind != Layer::Kind::kProduct) return problem_.result;
  ir::Shape dims = input_;
  dims.back() = channels_;
  return dims;
}

InstanceShape Block::norm_shape() const { return {input_[0], result_size_ / (input_[0] * channels_), channels_}; }

void Block::apply_norm(const float* x, const std::vector<float>& weights, const std::vector<float>* bias, float* y) {
  const auto normalize = layer_.kind == Layer::Kind::kInstanceNorm ? normalize_instances : normalize_rows;
  normalize(x, norm_shape(), epsilon_, normalized_, inverse_);
  scale_channels(normalized_, weights, bias, y);
}

/// With the factor of a Gemm.
const float* Block::scaled(const std::vector<float>& weights) {
  if (layer_.alpha == 1) return weights.data();
  weights_ = weights;
  for (float& value : weights_) value *= layer_.alpha;
  return weights_.data();
}

void Block::apply_convolution(const float* x, const std::vector<float>& weights, const std::vector<float>* bias,
                              float* y) {
  const float* w = scaled(weights);
  const float* b = bias == nullptr ? nullptr : bias->data();
  if (bias != nullptr && layer_.beta != 1) {
    bias_ = *bias;
    for (float& value : bias_) value *= layer_.beta;
    b = bias_.data();
  }
  convolution_->run({x, w, b, {}, y, aligned(scratch_)});
}

void Block::forward(const float* x, const std::vector<float>& weights, const std::vector<float>* bias, float* result) {
  float* const linear = before_.empty() ? result : before_.data();
  if (layer_.is_norm()) {
    apply_norm(x, weights, bias, linear);
  } else {
    apply_convolution(x, weights, bias, linear);
  }
  if (!before_.empty()) activate(layer_.activation, before_, channels_, {result, before_.size()});
}

void Block::add_linear_gradient(const float* x, const float* dy, std::vector<float>& weight_gradient) {
  gradient_->run(x, dy, fresh_.data());
  if (layer_.kind != Layer::Kind::kProduct || layer_.transposed) {
    for (size_t i = 0; i < fresh_.size(); ++i) weight_gradient[i] += layer_.alpha * fresh_[i];
    return;
  }
  const auto columns = static_cast<size_t>(channels_), depth = fresh_.size() / columns;
  for (size_t k = 0; k < depth; ++k)
    for (size_t n = 0; n < columns; ++n) weight_gradient[k * columns + n] += layer_.alpha * fresh_[n * depth + k];
}

void Block::backward(const float* x, std::span<float> dy, std::vector<float>& weight_gradient,
                     std::vector<float>* bias_gradient) {
  if (!before_.empty()) activation_gradient(layer_.activation, before_, channels_, dy);
  if (layer_.is_norm()) {
    add_channel_sums(dy, normalized_.data(), 1, weight_gradient);
  } else {
    add_linear_gradient(x, dy.data(), weight_gradient);
  }
  if (bias_gradient != nullptr) add_channel_sums(dy, nullptr, layer_.beta, *bias_gradient);
}

/// Returns the problem with the same weights and exchanged inputs and outputs.
exec::ConvProblem Block::adjoint() const {
  const exec::ConvProblem& p = problem_;
  if (layer_.kind == Layer::Kind::kProduct)
    return exec::product_problem(p.result[2], p.result[1], p.source[1], p.weight_strides[0], p.weight_strides[1]);
  exec::ConvProblem back = p;
  std::swap(back.source, back.result);
  back.transposed = !p.transposed;
  back.has_bias = false;
  return back;
}

Status Block::prepare_input_gradient() {
  if (layer_.is_norm()) return Status();
  QQ_TRY(adjoint_, exec::Convolution::make(adjoint(), nullptr));
  adjoint_scratch_.resize(adjoint_->scratch_bytes() + 64);
  return Status();
}

void Block::input_gradient(const float* dy, const std::vector<float>& weights, float* dx) {
  if (layer_.is_norm()) {
    const bool by_row = layer_.kind == Layer::Kind::kLayerNorm;
    norm_gradient({dy, normalized_.data(), inverse_.data(), weights.data(), norm_shape(), by_row}, dx);
    return;
  }
  adjoint_->run({dy, scaled(weights), nullptr, {}, dx, aligned(adjoint_scratch_)});
}

// Activations after a layer and their derivatives. Elementwise, so threads do not matter.

namespace {

using ActivationKind = Activation::Kind;

constexpr float kRootHalf = std::numbers::sqrt2_v<float> / 2;
constexpr float kRootTwoOverPi = 0.7978845608f, kCubic = 0.044715f;  // For the tanh form of Gelu.
constexpr float kNormalDensity = 0.3989422804f;                      // 1 / sqrt(2 pi)

float clip(float x, float low, float high) {
  const float y = x < low ? low : x;
  return y > high ? high : y;
}

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }
float tanh_of_gelu(float x) { return std::tanh(kRootTwoOverPi * (x + kCubic * x * x * x)); }

template <typename F>
void for_each(int64_t count, const F& f) {
  constexpr int64_t kPiece = 8192;
  for_each_element(static_cast<size_t>(count), kPiece, f);
}

/// Calls f(elements) for pieces of [0, count).
template <typename F>
void in_pieces(int64_t count, const F& f) {
  constexpr int64_t kPiece = 8192;
  parallel_pieces(count, kPiece, {.threads = count > 2 * kPiece ? 0 : 1}, [&](int64_t begin, int64_t end) {
    f(Elements{begin, end});
  });
}

float slope_at(const Activation& a, size_t i, int64_t channels) {
  return a.slopes[a.slopes.size() == 1 ? 0 : i % static_cast<size_t>(channels)];
}

}  // namespace

void activate(const Activation& a, std::span<const float> x, int64_t channels, std::span<float> y) {
  const auto count = static_cast<int64_t>(x.size());
  switch (a.kind) {
    case ActivationKind::kNone: std::copy(x.begin(), x.end(), y.begin()); break;
    case ActivationKind::kClip:
      in_pieces(count, [&](Elements part) {
        QQ_DISPATCH(planning, clip_to)(x.data(), y.data(), Span{a.low, a.high}, part);
      });
      break;
    case ActivationKind::kLeakyRelu:
      for_each(count, [&](size_t i) { y[i] = x[i] < 0 ? slope_at(a, i, channels) * x[i] : x[i]; });
      break;
    case ActivationKind::kHardSigmoid:
      in_pieces(count, [&](Elements part) {
        QQ_DISPATCH(planning, hard_sigmoid)(x.data(), y.data(), a.low, a.high, part);
      });
      break;
    case ActivationKind::kHardSwish:
      for_each(count, [&](size_t i) { y[i] = x[i] * clip(x[i] / 6 + 0.5f, 0, 1); });
      break;
    case ActivationKind::kTanh: for_each(count, [&](size_t i) { y[i] = std::tanh(x[i]); }); break;
    case ActivationKind::kSigmoid: for_each(count, [&](size_t i) { y[i] = sigmoid(x[i]); }); break;
    case ActivationKind::kGelu:
      for_each(count, [&](size_t i) { y[i] = x[i] * 0.5f * (1 + std::erf(x[i] * kRootHalf)); });
      break;
    case ActivationKind::kTanhGelu:
      for_each(count, [&](size_t i) { y[i] = 0.5f * x[i] * (1 + tanh_of_gelu(x[i])); });
      break;
  }
}

void activation_gradient(const Activation& a, std::span<const float> x, int64_t channels, std::span<float> dy) {
  const auto count = static_cast<int64_t>(x.size());
  switch (a.kind) {
    case ActivationKind::kNone: break;
    case ActivationKind::kClip:
      in_pieces(count, [&](Elements part) {
        QQ_DISPATCH(planning, pass_strictly_inside)(x.data(), dy.data(), Span{a.low, a.high}, part);
      });
      break;
    case ActivationKind::kLeakyRelu:
      for_each(count, [&](size_t i) { dy[i] *= x[i] < 0 ? slope_at(a, i, channels) : 1.0f; });
      break;
    case ActivationKind::kHardSigmoid:
      in_pieces(count, [&](Elements part) {
        QQ_DISPATCH(planning, hard_sigmoid_gradient)(x.data(), dy.data(), a.low, a.high, part);
      });
      break;
    case ActivationKind::kHardSwish:
      for_each(count, [&](size_t i) { dy[i] *= x[i] <= -3 ? 0.0f : x[i] >= 3 ? 1.0f : x[i] / 3 + 0.5f; });
      break;
    case ActivationKind::kTanh:
      for_each(count, [&](size_t i) {
        const float t = std::tanh(x[i]);
        dy[i] *= 1 - t * t;
      });
      break;
    case ActivationKind::kSigmoid:
      for_each(count, [&](size_t i) {
        const float s = sigmoid(x[i]);
        dy[i] *= s * (1 - s);
      });
      break;
    case ActivationKind::kGelu:
      for_each(count, [&](size_t i) {
        const float share = 0.5f * (1 + std::erf(x[i] * kRootHalf));
        dy[i] *= share + x[i] * kNormalDensity * std::exp(-0.5f * x[i] * x[i]);
      });
      break;
    case ActivationKind::kTanhGelu:
      for_each(count, [&](size_t i) {
        const float t = tanh_of_gelu(x[i]);
        const float inner = kRootTwoOverPi * (1 + 3 * kCubic * x[i] * x[i]);
        dy[i] *= 0.5f * (1 + t) + 0.5f * x[i] * (1 - t * t) * inner;
      });
      break;
  }
}

// Norms whose scales are learned: what they multiply does not depend on the scales.

namespace {

/// Values that are normalized together: `count` of them, `stride` apart.
struct NormSet {
  int64_t first = 0, count = 0, stride = 1;
};

/// Returns 1 / deviation.
float normalize(const float* x, float* y, const NormSet& set, float epsilon) {
  double sum = 0, square = 0;
  const int64_t end = set.first + set.count * set.stride;
  for (int64_t i = set.first; i < end; i += set.stride) sum += static_cast<double>(x[i]);
  const double mean = sum / static_cast<double>(set.count);
  for (int64_t i = set.first; i < end; i += set.stride) {
    const double off = static_cast<double>(x[i]) - mean;
    square += off * off;
  }
  const double scale = 1 / std::sqrt(square / static_cast<double>(set.count) + static_cast<double>(epsilon));
  for (int64_t i = set.first; i < end; i += set.stride)
    y[i] = static_cast<float>((static_cast<double>(x[i]) - mean) * scale);
  return static_cast<float>(scale);
}

NormSet set_of(const InstanceShape& shape, bool by_row, int64_t i) {
  if (by_row) return {i * shape.channels, shape.channels, 1};
  const int64_t size = shape.positions * shape.channels;
  return {i / shape.channels * size + i % shape.channels, shape.positions, shape.channels};
}

int64_t set_count(const InstanceShape& shape, bool by_row) {
  return shape.instances * (by_row ? shape.positions : shape.channels);
}

}  // namespace

void normalize_instances(const float* x, const InstanceShape& shape, float epsilon, std::vector<float>& y,
                         std::vector<float>& inverse) {
  parallel_for(set_count(shape, false), [&](int64_t i) {
    inverse[static_cast<size_t>(i)] = normalize(x, y.data(), set_of(shape, false, i), epsilon);
  });
}

void normalize_rows(const float* x, const InstanceShape& shape, float epsilon, std::vector<float>& y,
                    std::vector<float>& inverse) {
  parallel_for(set_count(shape, true), [&](int64_t i) {
    inverse[static_cast<size_t>(i)] = normalize(x, y.data(), set_of(shape, true, i), epsilon);
  });
}

void norm_gradient(const NormGradient& g, float* dx) {
  parallel_for(set_count(g.shape, g.by_row), [&](int64_t i) {
    const NormSet set = set_of(g.shape, g.by_row, i);
    const int64_t end = set.first + set.count * set.stride;
    const auto at = [&](int64_t k) {
      return static_cast<double>(g.dy[k]) * static_cast<double>(g.weights[k % g.shape.channels]);
    };
    double sum = 0, product = 0;
    for (int64_t k = set.first; k < end; k += set.stride) {
      sum += at(k);
      product += at(k) * static_cast<double>(g.normalized[k]);
    }
    const double count = static_cast<double>(set.count);
    for (int64_t k = set.first; k < end; k += set.stride)
      dx[k] = g.inverse[i] *
              static_cast<float>(at(k) - sum / count - static_cast<double>(g.normalized[k]) * product / count);
  });
}

void scale_channels(const std::vector<float>& x, const std::vector<float>& weights, const std::vector<float>* bias,
                    float* y) {
  for (size_t i = 0; i < x.size(); i += weights.size()) {
    for (size_t c = 0; c < weights.size(); ++c)
      y[i + c] = x[i + c] * weights[c] + (bias == nullptr ? 0.0f : (*bias)[c]);
  }
}

void add_channel_sums(std::span<const float> dy, const float* x, float factor, std::vector<float>& sums) {
  const auto channels = static_cast<int64_t>(sums.size()), rows = static_cast<int64_t>(dy.size()) / channels;
  const int64_t step = std::max<int64_t>(1, kResultChunk / channels), chunks = (rows + step - 1) / step;
  std::vector<double> parts(static_cast<size_t>(chunks * channels));
  parallel_for(chunks, [&](int64_t i) {
    const int64_t first = i * step * channels;
    QQ_DISPATCH(planning, add_rows)
    (dy.data() + first, x == nullptr ? nullptr : x + first, std::min(step, rows - i * step), channels,
     parts.data() + i * channels);
  });
  for (size_t c = 0; c < sums.size(); ++c) {
    double found = 0;
    for (size_t i = c; i < parts.size(); i += sums.size()) found += parts[i];
    sums[c] += factor * static_cast<float>(found);
  }
}

}  // namespace quarkq::planning::finetune
