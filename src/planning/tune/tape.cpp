// SPDX-License-Identifier: MIT
#include "planning/tune/tape.h"

#include <algorithm>
#include <cmath>

#include "exec/quantize_pair.h"
#include "numeric/linear_quant.h"
#include "plan/lowering/lower.h"
#include "planning/tune/block.h"
#include "planning/tune/layer_constants.h"
#include "planning/tune/train_loops.h"

namespace quarkq::planning::finetune {

Tape::~Tape() = default;

TapeValue* Tape::add_value() {
  values_.push_back(std::make_unique<TapeValue>());
  return values_.back().get();
}

/// The layer with its activation as one operator.
Status Tape::add_layer(const Unit& unit, const ir::Model& model) {
  TapeValue* const input = values_.front().get();
  const ir::Node& node = model.graph.node(unit.layers[0]->node);
  const TapeNode made{model.graph,        node, {input},        {}, *add_value(),
                      unit.channels_last, 0,    unit.layers[0], 0,  /*only_clips=*/false};
  QQ_TRY(ops_.emplace_back(), make_layer_op(made));
  return Status();
}

Status Tape::add_nodes(const Unit& unit, const ir::Model& model) {
  const ir::Graph& graph = model.graph;
  std::vector<TapeValue*> known(graph.value_count(), nullptr);
  known[static_cast<size_t>(unit.start.index)] = values_.front().get();
  for (const ir::NodeId id : unit.nodes) {
    const ir::Node& node = graph.node(id);
    const MakeTapeOp make_op = find_tape_op(graph, node);
    if (make_op == nullptr) return unsupported(graph.label(id), ": is not computed in blocks");
    TapeNode given{graph, node, {}, {}, *add_value(), unit.channels_last, ops_.size()};
    for (size_t i = 0; i < unit.layers.size(); ++i) {
      if (unit.layers[i]->node != id) continue;
      given.layer = unit.layers[i];
      given.layer_index = i;
    }
    const bool is_layer = given.layer != nullptr;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::ValueId value = node.inputs[i];
      given.inputs.push_back(value.valid() ? known[static_cast<size_t>(value.index)] : nullptr);
      std::optional<ir::Tensor>& constant = given.constants.emplace_back();
      if (!value.valid() || given.inputs.back() != nullptr || (is_layer && i > 0)) continue;
      QQ_TRY(const ConstantChain chain, ConstantChain::to(model, value));
      QQ_TRY(constant, chain.run());
    }
    given.only_clips = node.output(0) == unit.end && !unit.rounds_end;
    QQ_TRY(ops_.emplace_back(), make_op(given));
    known[static_cast<size_t>(node.output(0).index)] = values_.back().get();
  }
  return Status();
}

Result<std::unique_ptr<Tape>> Tape::make(const Unit& unit, const ir::Model& model, const ir::Shape& input) {
  std::unique_ptr<Tape> tape(new Tape);
  TapeValue* const start = tape->add_value();
  start->dims = input;
  QQ_TRY(start->size, ir::element_count(input));
  QQ_RETURN_IF_ERROR(unit.is_block() ? tape->add_nodes(unit, model) : tape->add_layer(unit, model));
  TapeValue& result = *tape->values_.back();
  result.gradient.resize(static_cast<size_t>(result.size));
  return tape;
}

int64_t Tape::inner_bytes() const {
  size_t count = 0;
  for (size_t i = 1; i + 1 < values_.size(); ++i) count += 2 * static_cast<size_t>(values_[i]->size);
  return static_cast<int64_t>(count * sizeof(float));
}

const float* Tape::forward(const float* x, const std::vector<LayerValues>& layers, const Mixing& mixing) {
  values_.front()->data = x;
  const TapePass pass{layers, mixing};
  for (const auto& op : ops_) op->forward(pass);
  return values_.back()->data;
}

void Tape::backward(const std::vector<LayerValues>& layers, Gradients& gradients) {
  for (const auto& value : values_) value->has_gradient = false;
  const TapePass pass{layers, {}, &gradients};
  for (auto op = ops_.rbegin(); op != ops_.rend(); ++op) (*op)->backward(pass);
}

namespace {

struct TapeOpRow {
  const char *op, *domain;
  MakeTapeOp make;
};

/// Operators in addition to the activations, which read_activation() lists.
constexpr TapeOpRow kTapeOps[] = {
    {"Conv", "", make_layer_op},
    {"ConvTranspose", "", make_layer_op},
    {"Gemm", "", make_layer_op},
    {"MatMul", "", make_layer_op},
    {"InstanceNormalization", "", make_layer_op},
    {"LayerNormalization", "", make_layer_op},
    {"Add", "", make_sum_op},
    {"Mul", "", make_scaling_op},
    {"GlobalAveragePool", "", make_mean_op},
    {"HardSigmoid", "", make_activation_op},
    {"HardSwish", "", make_activation_op},
    {plan::kFakeQuantize, plan::kSimulationDomain, make_quantize_op},
};

}  // namespace

MakeTapeOp find_tape_op(const ir::Graph& graph, const ir::Node& node) {
  for (const TapeOpRow& row : kTapeOps)
    if (node.op == row.op && node.domain == row.domain) return row.make;
  Activation activation;
  return read_activation(graph, node, activation) ? make_activation_op : nullptr;
}

bool is_layer_op(const ir::Node& node) {
  for (const TapeOpRow& row : kTapeOps)
    if (node.op == row.op && node.domain == row.domain) return row.make == make_layer_op;
  return false;
}

bool is_unary_op(const ir::Graph& graph, const ir::Node& node) {
  const MakeTapeOp make = find_tape_op(graph, node);
  return make == make_activation_op || make == make_quantize_op;
}

Status TapeNode::cannot(const char* why) const { return unsupported(graph.label(node.id), ": ", why); }

void shape_output(const TapeNode& node, const ir::Shape& dims, bool has_storage) {
  TapeValue& value = node.output;
  value.dims = dims;
  value.size = ir::checked_count(dims);
  if (has_storage) {
    value.storage.resize(static_cast<size_t>(value.size));
    value.data = value.storage.data();
  }
  value.needs_gradient = node.layer != nullptr;
  for (const TapeValue* input : node.inputs)
    value.needs_gradient = value.needs_gradient || (input != nullptr && input->needs_gradient);
  if (value.needs_gradient) value.gradient.resize(static_cast<size_t>(value.size));
}

GradientPlace::GradientPlace(TapeValue& value) : value_(value) {
  if (value.has_gradient) sum_.resize(value.gradient.size());
  value.has_gradient = true;
}

GradientPlace::~GradientPlace() {
  float* const to = value_.gradient.data();
  const float* const from = sum_.data();
  in_chunks(static_cast<int64_t>(sum_.size()), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] += from[i];
  });
}

void hand_over(TapeValue& from, TapeValue& to) {
  if (!to.has_gradient) {
    std::swap(from.gradient, to.gradient);
    to.has_gradient = true;
    return;
  }
  GradientPlace place(to);
  std::copy(from.gradient.begin(), from.gradient.end(), place.data());
}

// Layers on a tape. Inside a block the activation after a layer is an operator of its own.

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

// Quantizers of activations on a tape: rounding, or clipping alone for the elements that are left float (QDrop).

namespace {

/// Another stream of draws for each place on the tape.
uint32_t seed_of(uint32_t seed, size_t place) { return seed ^ (static_cast<uint32_t>(place) * 0x85ebca6bu); }

class QuantizeOp : public TapeOp {
 public:
  QuantizeOp(const TapeNode& node, const exec::PairParams& params)
      : input_(*node.inputs[0]), output_(node.output), place_(node.place), only_clips_(node.only_clips) {
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

Result<std::unique_ptr<TapeOp>> make_quantize_op(const TapeNode& node) {
  if (node.inputs.size() != 3 || node.inputs[0] == nullptr || !node.constants[1] || !node.constants[2])
    return node.cannot("has computed parameters");
  const auto params = exec::read_pair_params(&*node.constants[1], &*node.constants[2]);
  if (!params) return node.cannot("has another format than integers of 8 or 16 bits with one scale");
  shape_output(node, node.inputs[0]->dims);
  return std::unique_ptr<TapeOp>(std::make_unique<QuantizeOp>(node, *params));
}

}  // namespace quarkq::planning::finetune
