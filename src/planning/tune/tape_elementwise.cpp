// SPDX-License-Identifier: MIT
// Activations, sums, products by elements and means on a tape.
#include <algorithm>

#include "exec/layout.h"
#include "ir/constants.h"
#include "planning/tune/block.h"
#include "planning/tune/tape_op.h"
#include "planning/tune/train_loops.h"

namespace quarkq::planning::finetune {
namespace {

class ActivationOp : public TapeOp {
 public:
  ActivationOp(const TapeNode& node, Activation activation)
      : activation_(std::move(activation)),
        input_(*node.inputs[0]),
        output_(node.output()),
        channels_(input_.channels()) {}

  void forward(const TapePass& /*pass*/) override {
    activate(activation_, before(), channels_, output_.storage.span());
  }
  void backward(const TapePass& /*pass*/) override {
    if (!input_.needs_gradient) return;
    activation_gradient(activation_, before(), channels_, output_.gradient.span());
    hand_over(output_, input_);
  }

 private:
  std::span<const float> before() const { return {input_.data, static_cast<size_t>(input_.size)}; }
  Activation activation_;
  TapeValue &input_, &output_;
  int64_t channels_;
};

/// How the elements of an operand repeat over the elements of the result, which are [outer, inner, channels] in memory.
struct Repeat {
  enum class Kind : uint8_t { kNone, kScalar, kChannels, kImages } kind = Kind::kNone;
  int64_t inner = 1, channels = 1;

  int64_t at(int64_t i) const {
    switch (kind) {
      case Kind::kNone: return i;
      case Kind::kScalar: return 0;
      case Kind::kChannels: return i % channels;
      case Kind::kImages: return i / (inner * channels) * channels + i % channels;
    }
    return i;
  }
};

/// One operand: a value of the tape, or a constant.
struct Operand {
  TapeValue* value = nullptr;
  std::vector<float> constant;
  Repeat repeat;
  const float* data() const { return value != nullptr ? value->data : constant.data(); }
};

/// Derives the repetition from operand and result dimensions (ONNX order). Returns nullopt for any other broadcast.
std::optional<Repeat> repeat_of(const ir::Shape& dims, const ir::Shape& result, bool channels_last) {
  using Kind = Repeat::Kind;
  const int64_t count = ir::checked_count(dims), all = ir::checked_count(result);
  if (count == all) return Repeat{};
  if (count == 1) return Repeat{Kind::kScalar};
  const int64_t rank = static_cast<int64_t>(result.size()), missing = rank - static_cast<int64_t>(dims.size());
  if (missing < 0) return {};
  const auto axis = static_cast<size_t>(channels_last && rank > 2 ? 1 : rank - 1);  // the last axis in memory
  const auto dim = [&](size_t i) {
    return static_cast<int64_t>(i) < missing ? 1 : dims[i - static_cast<size_t>(missing)];
  };
  Repeat repeat{Kind::kChannels, 1, result[axis]};
  if (dim(axis) != repeat.channels) return {};
  if (count == repeat.channels) return repeat;
  if (axis == 0 || dim(0) != result[0] || count != repeat.channels * result[0]) return {};
  repeat.kind = Kind::kImages;
  repeat.inner = all / count;
  return repeat;
}

class BinaryOp : public TapeOp {
 public:
  explicit BinaryOp(const TapeNode& node) : output_(node.output()) {}

  Status prepare(const TapeNode& node) {
    if (node.inputs.size() != 2) return node.cannot("does not have two inputs");
    std::optional<ir::Shape> result;
    ir::Shape dims[2];
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (node.inputs[i] == nullptr && !node.constants[i]) return node.cannot("reads a value of outside");
      dims[i] = node.inputs[i] != nullptr ? node.inputs[i]->dims : node.constants[i]->dims();
      if (node.inputs[i] != nullptr && (!result || ir::checked_count(dims[i]) > ir::checked_count(*result)))
        result = dims[i];
    }
    QQ_TRY(const ir::Shape both, ir::broadcast(dims[0], dims[1]));
    if (!result || both != *result) return node.cannot("broadcasts both operands, or a value to a constant");
    for (const size_t i : {size_t{0}, size_t{1}}) QQ_RETURN_IF_ERROR(add(node, i, dims[i], *result));
    shape_output(node, *result);
    return Status();
  }

 protected:
  /// Adds, or writes: the sums of `part(i)` over all places where the operand's element is read.
  template <typename Part>
  void give(Operand& operand, FloatPool& pool, Part part) {
    if (operand.value == nullptr || !operand.value->needs_gradient) return;
    GradientPlace place(*operand.value, pool);
    float* const to = place.data();
    const Repeat& r = operand.repeat;
    if (r.kind == Repeat::Kind::kNone) {
      in_chunks(output_.size, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = part(i);
      });
      return;
    }
    std::vector<double> sums(static_cast<size_t>(operand.value->size));
    for (int64_t i = 0; i < output_.size; ++i) sums[static_cast<size_t>(r.at(i))] += static_cast<double>(part(i));
    for (size_t i = 0; i < sums.size(); ++i) to[i] = static_cast<float>(sums[i]);
  }
  /// Computes the output: `plain(a, b, y, elements)` where both operands have its elements, otherwise `one(a, b)`.
  template <typename Plain, typename One>
  void fill(Plain plain, One one) {
    float* const y = output_.storage.data();
    const float *const a = operands_[0].data(), *const b = operands_[1].data();
    const Repeat &ra = operands_[0].repeat, &rb = operands_[1].repeat;
    const bool is_plain = ra.kind == Repeat::Kind::kNone && rb.kind == Repeat::Kind::kNone;
    in_chunks(output_.size, [&](int64_t begin, int64_t end) {
      if (is_plain) return plain(a, b, y, Elements{begin, end});
      for (int64_t i = begin; i < end; ++i) y[i] = one(a[ra.at(i)], b[rb.at(i)]);
    });
  }

  TapeValue& output_;
  Operand operands_[2];

 private:
  Status add(const TapeNode& node, size_t i, const ir::Shape& dims, const ir::Shape& result) {
    const std::optional<Repeat> repeat = repeat_of(dims, result, node.channels_last);
    if (!repeat) return node.cannot("broadcasts in a way that is not computed in blocks");
    operands_[i].repeat = *repeat;
    operands_[i].value = node.inputs[i];
    if (node.inputs[i] != nullptr) return Status();
    ir::Tensor constant = *node.constants[i];
    if (repeat->kind == Repeat::Kind::kNone && node.channels_last)
      constant = exec::in_layout(constant.reshaped(result), exec::Layout::kChannelsLast);
    QQ_TRY(operands_[i].constant, ir::float_values(constant));
    return Status();
  }
};

/// a + b, or a - b.
template <int kSign>
class SumOp : public BinaryOp {
 public:
  using BinaryOp::BinaryOp;
  void forward(const TapePass& /*pass*/) override {
    fill(kSign > 0 ? QQ_DISPATCH(planning, add) : QQ_DISPATCH(planning, subtract),
         [](float a, float b) { return kSign > 0 ? a + b : a - b; });
  }
  void backward(const TapePass& pass) override {
    const float* const dy = output_.gradient.data();
    give(operands_[1], pass.pool, [=](int64_t i) { return kSign > 0 ? dy[i] : -dy[i]; });
    Operand& last = operands_[0];
    if (last.value == nullptr || !last.value->needs_gradient) return;
    if (last.repeat.kind == Repeat::Kind::kNone) {
      hand_over(output_, *last.value);
    } else {
      give(last, pass.pool, [=](int64_t i) { return dy[i]; });
    }
  }
};

class ScalingOp : public BinaryOp {
 public:
  using BinaryOp::BinaryOp;
  void forward(const TapePass& /*pass*/) override {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (!is_factor(operands_[1 - i]) || operands_[i].repeat.kind != Repeat::Kind::kNone) continue;
      const float factor = operands_[1 - i].constant[0];
      return in_chunks(output_.size, [&](int64_t begin, int64_t end) {
        QQ_DISPATCH(planning, scale)(operands_[i].data(), output_.storage.data(), factor, {begin, end});
      });
    }
    fill(QQ_DISPATCH(planning, multiply), [](float a, float b) { return a * b; });
  }
  void backward(const TapePass& pass) override {
    const float* const dy = output_.gradient.data();
    for (const size_t i : {size_t{0}, size_t{1}}) {
      Operand& other = operands_[1 - i];
      const Repeat& repeat = other.repeat;
      if (operands_[i].repeat.kind == Repeat::Kind::kNone && (repeat.kind == Repeat::Kind::kNone || is_factor(other))) {
        give_all(operands_[i], pass.pool, other);
      } else {
        const float* const data = other.data();
        give(operands_[i], pass.pool, [&](int64_t k) { return dy[k] * data[repeat.at(k)]; });
      }
    }
  }

 private:
  /// Returns whether the operand is one constant number.
  static bool is_factor(const Operand& operand) {
    return operand.value == nullptr && operand.repeat.kind == Repeat::Kind::kScalar;
  }
  /// Gives dy * other, element by element.
  void give_all(Operand& operand, FloatPool& pool, const Operand& other) {
    if (operand.value == nullptr || !operand.value->needs_gradient) return;
    GradientPlace place(*operand.value, pool);
    const float* const dy = output_.gradient.data();
    in_chunks(output_.size, [&](int64_t begin, int64_t end) {
      if (is_factor(other)) return QQ_DISPATCH(planning, scale)(dy, place.data(), other.constant[0], {begin, end});
      QQ_DISPATCH(planning, multiply)(dy, other.data(), place.data(), {begin, end});
    });
  }
};

/// GlobalAveragePool: [N, spatial..., C] to [N, 1..., C].
class MeanOp : public TapeOp {
 public:
  explicit MeanOp(const TapeNode& node)
      : input_(*node.inputs[0]),
        output_(node.output()),
        images_(input_.dims[0]),
        channels_(input_.dims[1]),
        positions_(images_ * channels_ == 0 ? 0 : input_.size / (images_ * channels_)) {}

  void forward(const TapePass& /*pass*/) override {
    for (int64_t n = 0; n < images_; ++n) {
      std::vector<double> sums(static_cast<size_t>(channels_));
      QQ_DISPATCH(planning, add_rows)
      (input_.data + n * positions_ * channels_, nullptr, positions_, channels_, sums.data());
      for (int64_t c = 0; c < channels_; ++c)
        output_.storage.data()[n * channels_ + c] =
            static_cast<float>(sums[static_cast<size_t>(c)] / static_cast<double>(positions_));
    }
  }
  void backward(const TapePass& pass) override {
    if (!input_.needs_gradient) return;
    GradientPlace place(input_, pass.pool);
    float* const dx = place.data();
    const float* const dy = output_.gradient.data();
    const float share = 1 / static_cast<float>(positions_);
    const Repeat repeat{Repeat::Kind::kImages, positions_, channels_};
    in_chunks(input_.size, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) dx[i] = dy[repeat.at(i)] * share;
    });
  }

 private:
  TapeValue &input_, &output_;
  int64_t images_, channels_, positions_;
};

template <typename Op>
TapeOpResult make_binary_op(const TapeNode& node) {
  auto op = std::make_unique<Op>(node);
  QQ_RETURN_IF_ERROR(op->prepare(node));
  return std::unique_ptr<TapeOp>(std::move(op));
}

}  // namespace

TapeOpResult make_sum_op(const TapeNode& node) { return make_binary_op<SumOp<1>>(node); }
TapeOpResult make_difference_op(const TapeNode& node) { return make_binary_op<SumOp<-1>>(node); }
TapeOpResult make_scaling_op(const TapeNode& node) { return make_binary_op<ScalingOp>(node); }

TapeOpResult make_mean_op(const TapeNode& node) {
  const TapeValue* const input = node.inputs.empty() ? nullptr : node.inputs[0];
  if (input == nullptr || input->dims.size() < 3 || input->size == 0 || !node.channels_last)
    return node.cannot("is not computed in blocks for this input");
  ir::Shape dims(input->dims.size(), 1);
  std::copy_n(input->dims.begin(), 2, dims.begin());
  shape_output(node, dims);
  return std::unique_ptr<TapeOp>(std::make_unique<MeanOp>(node));
}

TapeOpResult make_activation_op(const TapeNode& node) {
  if (node.inputs.empty() || node.inputs[0] == nullptr) return node.cannot("reads a constant");
  Activation activation;
  using Kind = Activation::Kind;
  if (node.node.op == "HardSigmoid") {
    activation = {Kind::kHardSigmoid, node.node.float_or("alpha", 0.2f), node.node.float_or("beta", 0.5f), {}};
  } else if (node.node.op == "HardSwish") {
    activation.kind = Kind::kHardSwish;
  } else if (!read_activation(node.graph, node.node, activation)) {
    return node.cannot("is not an activation with constant limits");
  }
  const auto slopes = static_cast<int64_t>(activation.slopes.size());
  if (slopes > 1 && (slopes != node.inputs[0]->channels() || !node.channels_last))
    return node.cannot("has slopes that do not fit its channels");
  shape_output(node, node.inputs[0]->dims);
  return std::unique_ptr<TapeOp>(std::make_unique<ActivationOp>(node, std::move(activation)));
}

}  // namespace quarkq::planning::finetune
