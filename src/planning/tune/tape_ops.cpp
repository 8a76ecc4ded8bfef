// SPDX-License-Identifier: MIT
#include "planning/tune/tape_ops.h"

#include <algorithm>

#include "plan/lowering/lower.h"

namespace quarkq::planning::finetune {
namespace {

struct TapeOpRow {
  const char *op, *domain;
  MakeTapeOp make;
};

/// Beside the activations, which read_activation() lists.
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

}  // namespace quarkq::planning::finetune
