// SPDX-License-Identifier: MIT
// Every linear layer is a convolution: a product of matrices is one with a 1x1 kernel. A norm scales what it
// normalized.
#include "planning/tune/block.h"

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
  normalized_.resize(static_cast<size_t>(result_size_));
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
  block->before_.resize(static_cast<size_t>(block->result_size_));
  block->result_.resize(block->before_.size());
  return block;
}

ir::Shape Block::result() const {
  if (layer_.is_norm()) return input_;
  if (layer_.kind != Layer::Kind::kProduct) return problem_.result;
  ir::Shape dims = input_;
  dims.back() = channels_;
  return dims;
}

void Block::apply_norm(const float* x, const std::vector<float>& weights, const std::vector<float>* bias) {
  if (layer_.kind == Layer::Kind::kInstanceNorm) {
    normalize_instances(x, {input_[0], result_size_ / (input_[0] * channels_), channels_}, epsilon_, normalized_);
  } else {
    normalize_rows(x, result_size_ / channels_, channels_, epsilon_, normalized_);
  }
  scale_channels(normalized_, weights, bias, before_);
}

/// With the factor of a Gemm.
const float* Block::scaled(const std::vector<float>& weights) {
  if (layer_.alpha == 1) return weights.data();
  weights_ = weights;
  for (float& value : weights_) value *= layer_.alpha;
  return weights_.data();
}

void Block::apply_convolution(const float* x, const std::vector<float>& weights, const std::vector<float>* bias) {
  const float* w = scaled(weights);
  const float* b = bias == nullptr ? nullptr : bias->data();
  if (bias != nullptr && layer_.beta != 1) {
    bias_ = *bias;
    for (float& value : bias_) value *= layer_.beta;
    b = bias_.data();
  }
  convolution_->run({x, w, b, {}, before_.data(), aligned(scratch_)});
}

const std::vector<float>& Block::forward(const float* x, const std::vector<float>& weights,
                                         const std::vector<float>* bias) {
  if (layer_.is_norm()) {
    apply_norm(x, weights, bias);
  } else {
    apply_convolution(x, weights, bias);
  }
  if (layer_.activation.kind == Activation::Kind::kNone) return before_;
  activate(layer_.activation, before_, channels_, result_);
  return result_;
}

void Block::add_linear_gradient(const float* x, const std::vector<float>& dy, std::vector<float>& weight_gradient) {
  gradient_->run(x, dy.data(), fresh_.data());
  if (layer_.kind != Layer::Kind::kProduct || layer_.transposed) {
    for (size_t i = 0; i < fresh_.size(); ++i) weight_gradient[i] += layer_.alpha * fresh_[i];
    return;
  }
  const auto columns = static_cast<size_t>(channels_), depth = fresh_.size() / columns;
  for (size_t k = 0; k < depth; ++k)
    for (size_t n = 0; n < columns; ++n) weight_gradient[k * columns + n] += layer_.alpha * fresh_[n * depth + k];
}

void Block::backward(const float* x, std::vector<float>& dy, std::vector<float>& weight_gradient,
                     std::vector<float>* bias_gradient) {
  activation_gradient(layer_.activation, before_, channels_, dy);
  if (layer_.is_norm()) {
    add_channel_sums(dy, &normalized_, 1, weight_gradient);
  } else {
    add_linear_gradient(x, dy, weight_gradient);
  }
  if (bias_gradient != nullptr) add_channel_sums(dy, nullptr, layer_.beta, *bias_gradient);
}

/// The same weights, read the other way: outputs become inputs.
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
  if (layer_.is_norm()) return unsupported("no gradient goes through a norm");
  QQ_TRY(adjoint_, exec::Convolution::make(adjoint(), nullptr));
  adjoint_scratch_.resize(adjoint_->scratch_bytes() + 64);
  return Status();
}

void Block::input_gradient(const std::vector<float>& dy, const std::vector<float>& weights, float* dx) {
  adjoint_->run({dy.data(), scaled(weights), nullptr, {}, dx, aligned(adjoint_scratch_)});
}

}  // namespace quarkq::planning::finetune
