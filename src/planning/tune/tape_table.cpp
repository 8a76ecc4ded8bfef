// SPDX-License-Identifier: MIT
// The table of operators of tapes, and what all of them use.
#include <algorithm>

#include "plan/lowering/lower.h"
#include "planning/tune/tape_op.h"
#include "planning/tune/train_loops.h"

namespace quarkq::planning::finetune {

namespace {

using enum TapeLayout;

/// Operators in addition to the activations, which read_activation() lists.
constexpr TapeOpRow kRows[] = {
    {"Conv", "", make_layer_op, kChannelsLast, true},
    {"ConvTranspose", "", make_layer_op, kChannelsLast, true},
    {"Gemm", "", make_layer_op, kPlain, true},
    {"MatMul", "", make_layer_op, kPlain, true},
    {"InstanceNormalization", "", make_layer_op, kChannelsLast, true},
    {"LayerNormalization", "", make_layer_op, kPlain, true},
    {"Add", "", make_sum_op, kAny, true},
    {"Mul", "", make_scaling_op, kAny, true},
    {"Sub", "", make_difference_op, kAny, false},
    {"GlobalAveragePool", "", make_mean_op, kChannelsLast, true},
    {"HardSigmoid", "", make_activation_op, kAny, true},
    {"HardSwish", "", make_activation_op, kAny, true},
    {plan::kFakeQuantize, plan::kSimulationDomain, make_quantize_op, kAny, true},
    {"MaxPool", "", make_max_pool_op, kChannelsLast, false},
    {"AveragePool", "", make_average_pool_op, kChannelsLast, false},
    {"Softmax", "", make_softmax_op, kPlain, false},
    {"Resize", "", make_resize_op, kChannelsLast, false},
    {"Concat", "", make_move_op, kAny, false},
    {"Split", "", make_move_op, kAny, false},
    {"Slice", "", make_move_op, kAny, false},
    {"Pad", "", make_move_op, kAny, false},
    {"Gather", "", make_move_op, kPlain, false},
    {"Identity", "", make_move_op, kAny, false},
    {"DepthToSpace", "", make_move_op, kAny, false},
    {"SpaceToDepth", "", make_move_op, kAny, false},
    {"Expand", "", make_move_op, kPlain, false},
    {"Tile", "", make_move_op, kAny, false},
    {"Reshape", "", make_move_op, kPlain, false},
    {"Flatten", "", make_move_op, kPlain, false},
    {"Squeeze", "", make_move_op, kPlain, false},
    {"Unsqueeze", "", make_move_op, kPlain, false},
    {"Transpose", "", make_move_op, kPlain, false},
};
constexpr TapeOpRow kActivation = {"", "", make_activation_op, kAny, true};

}  // namespace

const TapeOpRow* find_tape_row(const ir::Graph& graph, const ir::Node& node) {
  for (const TapeOpRow& row : kRows)
    if (node.op == row.op && node.domain == row.domain) return &row;
  Activation activation;
  return read_activation(graph, node, activation) ? &kActivation : nullptr;
}

MakeTapeOp find_tape_op(const ir::Graph& graph, const ir::Node& node) {
  const TapeOpRow* const row = find_tape_row(graph, node);
  return row != nullptr && row->is_in_blocks ? row->make : nullptr;
}

bool is_layer_op(const ir::Node& node) {
  for (const TapeOpRow& row : kRows)
    if (node.op == row.op && node.domain == row.domain) return row.make == make_layer_op;
  return false;
}

bool is_unary_op(const ir::Graph& graph, const ir::Node& node) {
  const MakeTapeOp make = find_tape_op(graph, node);
  return make == make_activation_op || make == make_quantize_op;
}

Status TapeNode::cannot(const char* why) const { return unsupported(graph.label(node.id), ": ", why); }

void shape_output(const TapeNode& node, const ir::Shape& dims, bool channels_last, size_t output) {
  TapeValue& value = *node.outputs[output];
  value.dims = dims;
  value.size = ir::checked_count(dims);
  value.channels_last = channels_last;
  value.needs_gradient = node.layer != nullptr;
  for (const TapeValue* input : node.inputs)
    value.needs_gradient = value.needs_gradient || (input != nullptr && input->needs_gradient);
}

void shape_output(const TapeNode& node, const ir::Shape& dims, size_t output) {
  shape_output(node, dims, node.channels_last, output);
}

GradientPlace::GradientPlace(TapeValue& value, FloatPool& pool) : value_(value), pool_(pool) {
  FloatBuffer& place = value.has_gradient ? sum_ : value.gradient;
  if (place.empty()) place = pool.take(static_cast<size_t>(value.size));
  value.has_gradient = true;
}

GradientPlace::~GradientPlace() {
  float* const to = value_.gradient.data();
  const float* const from = sum_.data();
  in_chunks(static_cast<int64_t>(sum_.size()), [=](int64_t begin, int64_t end) {
    QQ_DISPATCH(planning, add)(to, from, to, {begin, end});
  });
  pool_.give(sum_);
}

void hand_over(TapeValue& from, TapeValue& to) {
  if (!to.has_gradient) {
    std::swap(from.gradient, to.gradient);
    to.has_gradient = true;
    return;
  }
  float* const sum = to.gradient.data();
  const float* const more = from.gradient.data();
  in_chunks(to.size, [=](int64_t begin, int64_t end) { QQ_DISPATCH(planning, add)(sum, more, sum, {begin, end}); });
}

}  // namespace quarkq::planning::finetune
