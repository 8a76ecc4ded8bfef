// SPDX-License-Identifier: MIT
// Softmax and products of two values on a tape.
#include <algorithm>
#include <cmath>

#include "planning/tune/block.h"
#include "planning/tune/tape_op.h"

namespace quarkq::planning::finetune {
namespace {

constexpr int64_t kSoftmaxSince = 13;  ///< Opset from which on Softmax works along one axis.

class SoftmaxOp : public TapeOp {
 public:
  SoftmaxOp(const TapeNode& node, int64_t count, int64_t inner)
      : input_(*node.inputs[0]), output_(node.output()), count_(count), inner_(inner) {}

  void forward(const TapePass& /*pass*/) override {
    float* const y = output_.storage.data();
    for_rows([&](int64_t first) {
      float greatest = input_.data[first];
      for (int64_t i = 0; i < count_; ++i) greatest = std::max(greatest, input_.data[first + i * inner_]);
      float sum = 0;
      for (int64_t i = 0; i < count_; ++i) {
        y[first + i * inner_] = std::exp(input_.data[first + i * inner_] - greatest);
        sum += y[first + i * inner_];
      }
      for (int64_t i = 0; i < count_; ++i) y[first + i * inner_] /= sum;
    });
  }

  void backward(const TapePass& /*pass*/) override {
    if (!input_.needs_gradient) return;
    const float* const y = output_.data;
    float* const dy = output_.gradient.data();
    for_rows([&](int64_t first) {
      float sum = 0;
      for (int64_t i = 0; i < count_; ++i) sum += dy[first + i * inner_] * y[first + i * inner_];
      for (int64_t i = 0; i < count_; ++i)
        dy[first + i * inner_] = y[first + i * inner_] * (dy[first + i * inner_] - sum);
    });
    hand_over(output_, input_);
  }

 private:
  template <typename F>
  void for_rows(const F& f) const {
    parallel_for(input_.size / count_, [&](int64_t row) { f(row / inner_ * inner_ * count_ + row % inner_); });
  }

  TapeValue &input_, &output_;
  int64_t count_, inner_;
};

/// A MatMul of two values with the same batch dimensions: one product of matrices after another.
class ProductOp : public TapeOp {
 public:
  explicit ProductOp(const TapeNode& node) : a_(*node.inputs[0]), b_(*node.inputs[1]), output_(node.output()) {
    layer_.kind = Layer::Kind::kProduct;
  }

  Status prepare(const TapeNode& node) {
    const size_t rank = a_.dims.size();
    if (rank < 2 || b_.dims.size() != rank || !std::equal(a_.dims.begin(), a_.dims.end() - 2, b_.dims.begin()))
      return node.cannot("has operands with different batch dimensions");
    const ir::Shape weights(b_.dims.end() - 2, b_.dims.end()), input(a_.dims.end() - 2, a_.dims.end());
    QQ_TRY(block_, Block::make(layer_, node.node, weights, input));
    if (a_.needs_gradient) QQ_RETURN_IF_ERROR(block_->prepare_input_gradient());
    ir::Shape dims = a_.dims;
    dims.back() = b_.dims.back();
    shape_output(node, dims);
    batch_ = a_.size / std::max<int64_t>(1, input[0] * input[1]);
    matrix_.resize(static_cast<size_t>(weights[0] * weights[1]));
    sum_.resize(matrix_.size());
    return Status();
  }

  void forward(const TapePass& /*pass*/) override {
    for (int64_t i = 0; i < batch_; ++i)
      block_->forward(a_.data + i * stride(a_), matrix(i), nullptr, output_.storage.data() + i * stride(output_));
  }

  void backward(const TapePass& pass) override {
    if (b_.needs_gradient) {
      GradientPlace place(b_, pass.pool);
      for (int64_t i = 0; i < batch_; ++i) {
        std::fill(sum_.begin(), sum_.end(), 0.0f);
        block_->backward(a_.data + i * stride(a_), dy(i), sum_, nullptr);
        std::copy(sum_.begin(), sum_.end(), place.data() + i * stride(b_));
      }
    }
    if (!a_.needs_gradient) return;
    GradientPlace place(a_, pass.pool);
    for (int64_t i = 0; i < batch_; ++i) block_->input_gradient(dy(i).data(), matrix(i), place.data() + i * stride(a_));
  }

 private:
  int64_t stride(const TapeValue& value) const { return value.size / std::max<int64_t>(1, batch_); }
  std::span<float> dy(int64_t i) {
    return output_.gradient.span().subspan(static_cast<size_t>(i * stride(output_)),
                                           static_cast<size_t>(stride(output_)));
  }
  const std::vector<float>& matrix(int64_t i) {
    std::copy_n(b_.data + i * stride(b_), stride(b_), matrix_.begin());
    return matrix_;
  }

  Layer layer_;
  TapeValue &a_, &b_, &output_;
  std::unique_ptr<Block> block_;
  int64_t batch_ = 0;
  std::vector<float> matrix_, sum_;
};

}  // namespace

TapeOpResult make_softmax_op(const TapeNode& node) {
  if (node.inputs.empty() || node.inputs[0] == nullptr) return node.cannot("reads a constant");
  const ir::Shape& dims = node.inputs[0]->dims;
  const bool is_old = node.model.opset() < kSoftmaxSince;
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = node.node.int_or("axis", is_old ? 1 : -1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || node.inputs[0]->size == 0) return node.cannot("has no such axis");
  if (is_old && axis != rank - 1) return node.cannot("works along several axes");
  int64_t inner = 1;
  for (int64_t i = axis + 1; i < rank; ++i) inner *= dims[static_cast<size_t>(i)];
  shape_output(node, dims);
  return std::unique_ptr<TapeOp>(std::make_unique<SoftmaxOp>(node, dims[static_cast<size_t>(axis)], inner));
}

TapeOpResult make_product_op(const TapeNode& node) {
  if (node.inputs.size() != 2 || node.inputs[0] == nullptr || node.inputs[1] == nullptr)
    return node.cannot("has an operand that is not learned");
  auto op = std::make_unique<ProductOp>(node);
  QQ_RETURN_IF_ERROR(op->prepare(node));
  return std::unique_ptr<TapeOp>(std::move(op));
}

}  // namespace quarkq::planning::finetune
