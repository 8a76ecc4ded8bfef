// SPDX-License-Identifier: MIT
#include "rewrite/optimize/move_rules.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "ir/shape.h"
#include "ir/traversal.h"

namespace quarkq::rewrite::basic {
namespace {

constexpr int64_t kAxesAsInput = 13;  // opset in which Squeeze and Unsqueeze got their axes as an input

// Elementwise operators: position by position, whatever the order of the dimensions.
constexpr const char* kUnary[] = {"Abs",
                                  "Acos",
                                  "Acosh",
                                  "Asin",
                                  "Asinh",
                                  "Atan",
                                  "Atanh",
                                  "Cast",
                                  "Ceil",
                                  "Celu",
                                  "Clip",
                                  "Cos",
                                  "Cosh",
                                  "Elu",
                                  "Erf",
                                  "Exp",
                                  "Floor",
                                  "Gelu",
                                  "HardSigmoid",
                                  "HardSwish",
                                  "IsInf",
                                  "IsNaN",
                                  "LeakyRelu",
                                  "Log",
                                  "Neg",
                                  "Not",
                                  "Reciprocal",
                                  "Relu",
                                  "Round",
                                  "Selu",
                                  "Shrink",
                                  "Sigmoid",
                                  "Sign",
                                  "Sin",
                                  "Sinh",
                                  "Softplus",
                                  "Softsign",
                                  "Sqrt",
                                  "Tan",
                                  "Tanh",
                                  "ThresholdedRelu",
                                  "Identity"};
constexpr const char* kBroadcasting[] = {
    "Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "Max", "Mean",  "LessOrEqual",
    "Min", "Mod", "Mul", "Or",    "Pow",     "PRelu",          "Sub",  "Sum", "Where", "Xor"};
constexpr MoveRule kRules[] = {
    {"Concat", Reads::kAll, Order::kKept, true, push_axis},
    {"Split", Reads::kFirst, Order::kKept, true, push_axis},
    {"Softmax", Reads::kFirst, Order::kKept, true, push_softmax},
    {"LogSoftmax", Reads::kFirst, Order::kKept, true, push_softmax},
    {"Hardmax", Reads::kFirst, Order::kKept, true, push_softmax},
    {"ArgMax", Reads::kFirst, Order::kKeptWithDims, true, push_arg},
    {"ArgMin", Reads::kFirst, Order::kKeptWithDims, true, push_arg},
    {"ReduceL1", Reads::kFirst, Order::kKeptWithDims, true, push_reduce},
    {"ReduceL2", Reads::kFirst, Order::kKeptWithDims, true, push_reduce},
    {"ReduceLogSum", Reads::kFirst, Order::kKeptWithDims, true, push_reduce},
    {"ReduceLogSumExp", Reads::kFirst, Order::kKeptWithDims, true, push_reduce},
    {"ReduceMax", Reads::kFirst, Order::kKeptWithDims, true, push_reduce},
    {"ReduceMean", Reads::kFirst, Order::kKeptWithDims, true, push_reduce},
    {"ReduceMin", Reads::kFirst, Order::kKeptWithDims, true, push_reduce},
    {"ReduceProd", Reads::kFirst, Order::kKeptWithDims, true, push_reduce},
    {"ReduceSum", Reads::kFirst, Order::kKeptWithDims, true, push_reduce},
    {"ReduceSumSquare", Reads::kFirst, Order::kKeptWithDims, true, push_reduce},
    {"Squeeze", Reads::kFirst, Order::kChanged, true, push_squeeze},
    {"Unsqueeze", Reads::kFirst, Order::kChanged, true, push_unsqueeze},
    {"Slice", Reads::kFirst, Order::kKept, true, push_slice},
    {"Pad", Reads::kFirst, Order::kKept, true, push_pad},
    {"Tile", Reads::kFirst, Order::kKept, true, push_tile},
    {"Gather", Reads::kFirst, Order::kChanged, true, push_gather},
    {"Shape", Reads::kFirst, Order::kChanged, false, push_shape},
    {"Reshape", Reads::kFirst, Order::kChanged, false, push_reshape},
    {"Transpose", Reads::kFirst, Order::kChanged, false, push_transpose},
};

std::unordered_map<std::string_view, MoveRule> all_rules() {
  std::unordered_map<std::string_view, MoveRule> rules;
  for (const char* op : kUnary) rules[op] = {op, Reads::kFirst, Order::kKept, true, push_first};
  for (const char* op : kBroadcasting) rules[op] = {op, Reads::kAll, Order::kKept, true, push_broadcast};
  for (const MoveRule& rule : kRules) rules[rule.op] = rule;
  return rules;
}

/// Everybody who reads `value` reads the output of a new node instead, which undoes what is about to happen to it.
void put_before_others(const Move& move, ir::ValueId value, const std::string& op, std::vector<ir::ValueId> more_inputs,
                       std::vector<ir::Attribute> attributes) {
  Workspace& work = move.work;
  const std::vector<ir::Use> uses = work.graph().value(value).uses;
  if (uses.empty()) return;
  std::vector<ir::ValueId> inputs{value};
  inputs.insert(inputs.end(), more_inputs.begin(), more_inputs.end());
  const ir::ValueType type = work.graph().value(value).type;
  const ir::ValueId undone = work.add_node(op, std::move(inputs), std::move(attributes), uses[0].node, type);
  for (const ir::Use& use : uses) work.set_input(use.node, static_cast<size_t>(use.input), undone);
}

/// The constant itself is permuted, when nothing outside of the nodes reads it. False otherwise.
bool transpose_constant(const Move& move, ir::ValueId value) {
  const ir::Tensor* tensor = move.work.constant(value);
  if (tensor == nullptr || !move.work.consumers(value).complete) return false;
  if (tensor->rank() == 0) return true;
  std::optional<ir::Tensor> result = permuted(*tensor, move.back);
  if (!result) return false;
  put_before_others(move, value, "Transpose", {}, {{"perm", move.forth, {}, {}}});
  move.work.set_constant(value, std::move(*result));
  return true;
}

/// A Transpose by `permutation` that reads `value` already, or a new one.
ir::ValueId transposed(const Move& move, ir::ValueId value, const Permutation& permutation) {
  Workspace& work = move.work;
  for (const ir::NodeId id : work.consumers(value).nodes) {
    const Permutation* found = permutation_of(&work.node(id));
    if (found != nullptr && *found == permutation) return work.node(id).outputs[0];
  }
  return work.add_node("Transpose", {value}, {{"perm", permutation, {}, {}}}, move.transpose,
                       permuted(work.graph().value(value).type, permutation));
}

bool squeezes(const Workspace& work, const ir::Node& node, const std::vector<int64_t>& axes) {
  if (!node.is("Squeeze")) return false;
  if (!node.input(1).valid()) return node.ints_or("axes", {}) == axes;
  const ir::Tensor* given = work.constant(node.input(1));
  if (given == nullptr) return false;
  const Result<std::vector<int64_t>> numbers = ir::to_int64(*given);
  return numbers.ok() && numbers.value() == axes;
}

}  // namespace

const MoveRule* move_rule(const ir::Node& node) {
  static const std::unordered_map<std::string_view, MoveRule> rules = all_rules();
  if (!node.domain.empty() || !node.captures.empty()) return nullptr;
  const auto found = rules.find(node.op);
  return found == rules.end() ? nullptr : &found->second;
}

bool keeps_order(const MoveRule& rule, const ir::Node& node) {
  return rule.order == Order::kKept || (rule.order == Order::kKeptWithDims && node.int_or("keepdims", 1) != 0);
}

std::vector<size_t> movable_inputs(const MoveRule& rule, const ir::Node& node) {
  std::vector<size_t> indices;
  const size_t count = rule.reads == Reads::kAll ? node.inputs.size() : std::min<size_t>(1, node.inputs.size());
  for (size_t i = 0; i < count; ++i) {
    if (node.inputs[i].valid()) indices.push_back(i);
  }
  return indices;
}

const Permutation* permutation_of(const ir::Node* node) {
  const Permutation* perm = node != nullptr && node->is("Transpose") ? node->get<Permutation>("perm") : nullptr;
  return perm != nullptr && ir::is_permutation(*perm) ? perm : nullptr;
}

bool fits_inputs(const MoveRule& rule, const Move& move) {
  const std::vector<size_t> inputs = movable_inputs(rule, move.reader());
  return std::all_of(inputs.begin(), inputs.end(), [&](size_t i) {
    const ir::ValueId input = move.reader().inputs[i];
    const Permutation* own = permutation_of(move.work.graph().producer(input));
    const std::optional<int64_t> rank = ir::rank_of(move.work.graph(), input);
    const std::optional<int64_t> moved = own == nullptr ? rank : std::optional(static_cast<int64_t>(own->size()));
    if (rank && rank != moved) return false;  // the stored type of the value contradicts its producer
    return !moved || *moved == move.rank() || rule.push == push_broadcast;
  });
}

void transpose_input(const Move& move, size_t index) {
  Workspace& work = move.work;
  const ir::ValueId value = move.reader().inputs[index];
  work.set_input(move.node, index, {});
  if (transpose_constant(move, value)) return work.set_input(move.node, index, value);
  const ir::Node* maker = work.graph().producer(value);
  const Permutation* before = permutation_of(maker);
  if (before == nullptr) return work.set_input(move.node, index, transposed(move, value, move.back));
  const ir::NodeId old_transpose = maker->id;
  const ir::ValueId source = maker->input(0);
  const Permutation both = compose(*before, move.back);
  ir::ValueId input = source;
  if (!is_identity(both)) {
    input = work.add_node("Transpose", {source}, {{"perm", both, {}, {}}}, old_transpose,
                          permuted(work.graph().value(source).type, both));
  }
  work.set_input(move.node, index, input);
  if (work.graph().use_count(value) == 0) work.remove_node(old_transpose);
}

void transpose_output(const Move& move, size_t index, const Permutation& permutation) {
  const ir::ValueId output = move.reader().output(index);
  if (!output.valid() || is_identity(permutation)) return;
  const ir::ValueType inner = permuted(move.work.graph().value(output).type, inverse(permutation));
  move.work.add_after(move.node, index, "Transpose", {{"perm", permutation, {}, {}}}, inner);
}

void transpose_outputs(const Move& move, const Permutation& permutation) {
  for (size_t i = 0; i < move.reader().outputs.size(); ++i) transpose_output(move, i, permutation);
}

void widen_input(const Move& move, size_t index) {
  Workspace& work = move.work;
  const ir::ValueId value = move.reader().inputs[index];
  const int64_t missing = move.rank() - *ir::rank_of(work.graph(), value);
  if (missing == 0) return;
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < missing; ++axis) axes.push_back(axis);
  const bool as_input = work.opset() >= kAxesAsInput;
  std::vector<ir::Attribute> attributes;
  if (!as_input) attributes.push_back({"axes", axes, {}, {}});
  work.set_input(move.node, index, {});
  if (work.constant(value) != nullptr && work.consumers(value).complete) {
    const ir::Tensor tensor = *work.constant(value);
    if (!work.graph().value(value).uses.empty()) {
      std::vector<ir::ValueId> axes_input;
      if (as_input) axes_input.push_back(work.add_shape_constant(axes));
      put_before_others(move, value, "Squeeze", axes_input, attributes);
    }
    ir::Shape dims(static_cast<size_t>(missing), 1);
    dims.insert(dims.end(), tensor.dims().begin(), tensor.dims().end());
    work.set_constant(value, tensor.reshaped(std::move(dims)));
    return work.set_input(move.node, index, value);
  }
  if (const ir::Node* maker = work.graph().producer(value); maker != nullptr && squeezes(work, *maker, axes)) {
    const ir::NodeId squeeze = maker->id;
    work.set_input(move.node, index, maker->input(0));
    if (work.graph().use_count(value) == 0) work.remove_node(squeeze);
    return;
  }
  std::vector<ir::ValueId> inputs{value};
  if (as_input) inputs.push_back(work.add_shape_constant(axes));
  ir::ValueType type = work.graph().value(value).type;
  type.dims.insert(type.dims.begin(), static_cast<size_t>(missing), ir::Dim{1, {}});
  work.set_input(move.node, index, work.add_node("Unsqueeze", std::move(inputs), attributes, move.node, type));
}

bool push_first(const Move& move) {
  transpose_input(move, 0);
  transpose_outputs(move, move.forth);
  return true;
}

bool push_broadcast(const Move& move) {
  std::vector<size_t> inputs;
  for (size_t i = 0; i < move.reader().inputs.size(); ++i) {
    if (!move.reader().inputs[i].valid()) continue;
    const std::optional<int64_t> rank = ir::rank_of(move.work.graph(), move.reader().inputs[i]);
    if (!rank || *rank > move.rank()) return false;
    if (*rank > 0) inputs.push_back(i);
  }
  for (const size_t i : inputs) widen_input(move, i);
  for (const size_t i : inputs) transpose_input(move, i);
  transpose_outputs(move, move.forth);
  return true;
}

}  // namespace quarkq::rewrite::basic
