// SPDX-License-Identifier: MIT
// Layers on a tape. Inside a block the activation after a layer is an operator of its own.
#include "planning/tune/block.h"
#include "planning/tune/tape_ops.h"

namespace quarkq::planning::finetune {
namespace {

class LayerOp : public TapeOp {
 public:
  LayerOp(const TapeNode& node, Layer layer)
      : layer_(std::move(layer)), index_(node.layer_index), input_(*node.inputs[0]), output_(node.output) {}

  Status prepare(const TapeNode& node) {
    QQ_TRY(block_, Block::make(layer_, node.node, layer_.weight_dims, input_.dims));
    shape_output(node, block_->result(), /*has_storage=*/false);
    return input_.needs_gradient ? block_->prepare_input_gradient() : Status();
  }

  void forward(const TapePass& pass) override {
    const LayerValues& now = pass.layers[index_];
    output_.data = block_->forward(input_.data, now.weights, now.bias.empty() ? nullptr : &now.bias).data();
  }

  void backward(const TapePass& pass) override {
    LayerValues& sums = pass.gradients->layers[index_];
    block_->backward(input_.data, output_.gradient, sums.weights,
                     pass.gradients->of_bias[index_] ? &sums.bias : nullptr);
    if (!input_.needs_gradient) return;
    GradientPlace place(input_);
    block_->input_gradient(output_.gradient, pass.layers[index_].weights, place.data());
  }

 private:
  Layer layer_;
  size_t index_;
  TapeValue &input_, &output_;
  std::unique_ptr<Block> block_;
};

}  // namespace

Result<std::unique_ptr<TapeOp>> make_layer_op(const TapeNode& node) {
  if (node.layer == nullptr || node.inputs.empty() || node.inputs[0] == nullptr)
    return node.cannot("is not a layer that is trained");
  Layer layer = *node.layer;
  const bool is_alone = node.inputs.size() == 1 && node.constants.empty();
  if (!is_alone) layer.activation = {};
  auto op = std::make_unique<LayerOp>(node, std::move(layer));
  QQ_RETURN_IF_ERROR(op->prepare(node));
  return std::unique_ptr<TapeOp>(std::move(op));
}

}  // namespace quarkq::planning::finetune
