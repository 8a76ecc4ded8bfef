// SPDX-License-Identifier: MIT
// Layers and quantizers on a tape. Inside a region the activation after a layer is an operator of its own.
#include "exec/quantize_pair.h"
#include "ir/constants.h"
#include "numeric/linear_quant.h"
#include "planning/tune/block.h"
#include "planning/tune/tape_op.h"
#include "planning/tune/train_loops.h"

namespace quarkq::planning::finetune {
namespace {

/// A layer that is learned.
class LayerOp : public TapeOp {
 public:
  LayerOp(const TapeNode& node, Layer layer)
      : layer_(std::move(layer)), index_(node.layer_index), input_(*node.inputs[0]), output_(node.output()) {}

  Status prepare(const TapeNode& node) {
    if (layer_.is_norm() && input_.needs_gradient && !node.has_fixed_layers)
      return node.cannot("is a norm, which begins a block");
    QQ_TRY(block_, Block::make(layer_, node.node, layer_.weight_dims, input_.dims));
    shape_output(node, block_->result());
    return input_.needs_gradient ? block_->prepare_input_gradient() : Status();
  }

  void forward(const TapePass& pass) override {
    const LayerValues& now = pass.layers[index_];
    block_->forward(input_.data, now.weights, now.bias.empty() ? nullptr : &now.bias, output_.storage.data());
  }

  void backward(const TapePass& pass) override {
    LayerValues& sums = pass.gradients->layers[index_];
    block_->backward(input_.data, output_.gradient.span(), sums.weights,
                     pass.gradients->of_bias[index_] ? &sums.bias : nullptr);
    if (!input_.needs_gradient) return;
    GradientPlace place(input_, pass.pool);
    block_->input_gradient(output_.gradient.data(), pass.layers[index_].weights, place.data());
  }

 private:
  Layer layer_;
  size_t index_;
  TapeValue &input_, &output_;
  std::unique_ptr<Block> block_;
};

/// A layer whose weights stay.
class FixedLayerOp : public TapeOp {
 public:
  FixedLayerOp(const TapeNode& node, Layer layer)
      : layer_(std::move(layer)), input_(*node.inputs[0]), output_(node.output()) {}

  Status prepare(const TapeNode& node) {
    QQ_TRY(weights_, ir::float_values(*node.constants[1]));
    if (node.constants.size() > 2 && node.constants[2]) {
      QQ_TRY(bias_, ir::float_values(*node.constants[2]));
      layer_.bias = node.node.input(2);
    }
    QQ_TRY(block_, Block::make(layer_, node.node, layer_.weight_dims, input_.dims));
    if (!bias_.empty() && static_cast<int64_t>(bias_.size()) != block_->channels())
      return node.cannot("has a bias that is not one value per channel");
    shape_output(node, block_->result());
    return input_.needs_gradient ? block_->prepare_input_gradient() : Status();
  }
  void forward(const TapePass& /*pass*/) override {
    block_->forward(input_.data, weights_, bias_.empty() ? nullptr : &bias_, output_.storage.data());
  }
  void backward(const TapePass& pass) override {
    if (!input_.needs_gradient) return;
    GradientPlace place(input_, pass.pool);
    block_->input_gradient(output_.gradient.data(), weights_, place.data());
  }

 private:
  Layer layer_;
  std::vector<float> weights_, bias_;
  TapeValue &input_, &output_;
  std::unique_ptr<Block> block_;
};

TapeOpResult make_fixed_layer(const TapeNode& node) {
  Layer layer;
  layer.node = node.node.id;
  const std::string reason = read_form(node.node, node.constants[1]->dims(), layer);
  if (!reason.empty()) return node.cannot(reason.c_str());
  auto op = std::make_unique<FixedLayerOp>(node, std::move(layer));
  QQ_RETURN_IF_ERROR(op->prepare(node));
  return std::unique_ptr<TapeOp>(std::move(op));
}

/// Another stream of draws for each place on the tape.
uint32_t seed_of(uint32_t seed, size_t place) { return seed ^ (static_cast<uint32_t>(place) * 0x85ebca6bu); }

/// Rounds, or only clips the elements that are left float (QDrop).
class QuantizeOp : public TapeOp {
 public:
  QuantizeOp(const TapeNode& node, const exec::PairParams& params)
      : input_(*node.inputs[0]), output_(node.output()), place_(node.place), only_clips_(node.only_clips) {
    const numeric::IntegerRange range = numeric::integer_range(params.type, numeric::RangeKind::kFull);
    params_ = {params.scale, params.zero_point, range, numeric::Overflow::kSaturate};
    span_ = {static_cast<float>(range.min - params.zero_point) * params.scale,
             static_cast<float>(range.max - params.zero_point) * params.scale};
  }

  void forward(const TapePass& pass) override {
    const float* const x = input_.data;
    float* const y = output_.storage.data();
    const double share = only_clips_ ? 0 : pass.mixing.rounded;
    const Draw draw{seed_of(pass.mixing.seed, place_), draw_limit(share)};
    in_chunks(output_.size, [&](int64_t begin, int64_t end) {
      if (share > 0) QQ_DISPATCH(numeric, fake_quantize)(x + begin, y + begin, end - begin, params_);
      if (share < 1) QQ_DISPATCH(planning, clip_the_rest)(x, y, span_, draw, {begin, end});
    });
  }

  void backward(const TapePass& /*pass*/) override {
    if (!input_.needs_gradient) return;
    const float half = params_.scale / 2;
    float* const dy = output_.gradient.data();
    in_chunks(output_.size, [&](int64_t begin, int64_t end) {
      QQ_DISPATCH(planning, pass_inside)(input_.data, dy, {span_.low - half, span_.high + half}, {begin, end});
    });
    hand_over(output_, input_);
  }

 private:
  TapeValue &input_, &output_;
  size_t place_;
  bool only_clips_;
  numeric::LinearParams params_;
  Span span_;
};

}  // namespace

TapeOpResult make_layer_op(const TapeNode& node) {
  const bool is_fixed = node.layer == nullptr && node.has_fixed_layers && node.inputs.size() >= 2;
  if (is_fixed && node.inputs[0] != nullptr && node.constants[1]) return make_fixed_layer(node);
  if (is_fixed && node.node.op == "MatMul") return make_product_op(node);
  if (node.layer == nullptr || node.inputs.empty() || node.inputs[0] == nullptr)
    return node.cannot("is not a layer that is trained");
  Layer layer = *node.layer;
  const bool is_alone = node.inputs.size() == 1 && node.constants.empty();
  if (!is_alone) layer.activation = {};
  auto op = std::make_unique<LayerOp>(node, std::move(layer));
  QQ_RETURN_IF_ERROR(op->prepare(node));
  return std::unique_ptr<TapeOp>(std::move(op));
}

TapeOpResult make_quantize_op(const TapeNode& node) {
  if (node.inputs.size() != 3 || node.inputs[0] == nullptr || !node.constants[1] || !node.constants[2])
    return node.cannot("has computed parameters");
  const auto params = exec::read_pair_params(&*node.constants[1], &*node.constants[2]);
  if (!params) return node.cannot("has another format than integers of 8 or 16 bits with one scale");
  shape_output(node, node.inputs[0]->dims);
  return std::unique_ptr<TapeOp>(std::make_unique<QuantizeOp>(node, *params));
}

}  // namespace quarkq::planning::finetune
