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

class LayerOp : public TapeOp {
 public:
  LayerOp(const TapeNode& node, Layer layer)
      : layer_(std::move(layer)), index_(node.layer_index), input_(*node.inputs[0]), output_(node.output()) {}

  Status prepare(const TapeNode& node) {
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
  if (node.layer == nullptr && node.node.op == "MatMul" && node.inputs.size() == 2) return make_product_op(node);
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
