// SPDX-License-Identifier: MIT
// Nodes that pass an input on unchanged. The name of their output survives: their producer writes that tensor.
#include <algorithm>
#include <limits>

#include "rewrite/simplify/operands.h"
#include "rewrite/simplify/simplify.h"

namespace quarkq::rewrite::simplify {
namespace {

/// All elements equal `number`.
bool is_filled_with(const ir::Tensor* tensor, double number) {
  if (tensor == nullptr || tensor->size() == 0 || tensor->size() > (int64_t{1} << 24)) return false;
  const Result<std::vector<double>> values = ir::to_double(*tensor);
  return values.ok() &&
         std::all_of(values.value().begin(), values.value().end(), [&](double v) { return v == number; });
}

using PassesOn = bool(const Scope& scope, const ir::Node& node);

bool always(const Scope& scope, const ir::Node&) { return !scope.nested; }

bool drops_nothing(const Scope& scope, const ir::Node& node) {
  if (scope.nested || scope.graph.use_count(node.output(1)) > 0) return false;
  return !node.input(2).valid() || is_filled_with(scope.constant(node.input(2)), 0);
}

bool pads_nothing(const Scope& scope, const ir::Node& node) {
  const auto pads = scope.integers(node.input(1));
  return pads && std::all_of(pads->begin(), pads->end(), [](int64_t pad) { return pad == 0; });
}

bool keeps_type(const Scope& scope, const ir::Node& node) {
  const auto element = static_cast<int64_t>(scope.graph.value(node.input(0)).type.element);
  return element != 0 && node.int_or("to", 0) == element;
}

/// The reference does not trust symbols here, as it does elsewhere.
bool expands_nothing(const Scope& scope, const ir::Node& node) {
  const auto from = scope.static_shape(node.input(0));
  return from && from == scope.static_shape(node.output(0));
}

bool reshapes_nothing(const Scope& scope, const ir::Node& node) {
  const ir::ValueType &in = scope.graph.value(node.input(0)).type, &out = scope.graph.value(node.output(0)).type;
  const bool both_flat = in.has_shape && out.has_shape && in.dims.size() == 1 && out.dims.size() == 1;
  return both_flat || scope.same_shape(node.input(0), node.output(0));
}

bool slices_nothing(const Scope& scope, const ir::Node& node) {
  const ir::ValueType& type = scope.graph.value(node.input(0)).type;
  const auto lists = slice_lists(scope, node);
  if (!type.is_static() || !lists) return false;  // the reference wants all dimensions, not only those it cuts
  constexpr int64_t kToTheEnd = std::numeric_limits<int32_t>::max();
  for (size_t i = 0; i < lists->axes.size(); ++i) {
    const Result<int64_t> axis = ir::normalize_axis(lists->axes[i], static_cast<int64_t>(type.dims.size()));
    if (!axis.ok() || lists->starts[i] != 0 || lists->steps[i] != 1) return false;
    const ir::Dim& dim = type.dims[static_cast<size_t>(axis.value())];
    if (lists->ends[i] < kToTheEnd && (!dim.known() || lists->ends[i] < dim.size)) return false;
  }
  return true;
}

bool transposes_nothing(const Scope&, const ir::Node& node) {
  const std::vector<int64_t> perm = node.ints_or("perm", {});
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return !perm.empty();
}

bool splits_nothing(const Scope&, const ir::Node& node) { return node.outputs.size() == 1; }
bool joins_nothing(const Scope&, const ir::Node& node) { return node.inputs.size() == 1; }

/// An elementwise operator whose operand number `side` is filled with its neutral element and does not broadcast the
/// other one.
bool is_neutral(const Scope& scope, const ir::Node& node, size_t side, double number) {
  const ir::Tensor* operand = scope.constant(node.input(side));
  if (operand == nullptr || !node.input(1 - side).valid()) return false;
  if (operand->rank() != 0 && !scope.same_shape(node.input(1 - side), node.output(0))) return false;
  return is_filled_with(operand, number);
}

bool adds_zero_second(const Scope& scope, const ir::Node& node) { return is_neutral(scope, node, 1, 0); }
bool adds_zero_first(const Scope& scope, const ir::Node& node) { return is_neutral(scope, node, 0, 0); }
bool scales_by_one_second(const Scope& scope, const ir::Node& node) { return is_neutral(scope, node, 1, 1); }
bool scales_by_one_first(const Scope& scope, const ir::Node& node) { return is_neutral(scope, node, 0, 1); }

struct NoOpRow {
  std::string_view op;
  size_t input;  ///< Index of the input that is passed on.
  PassesOn* holds;
};

constexpr NoOpRow kNoOps[] = {
    {"Identity", 0, always},          {"Dropout", 0, drops_nothing},        {"Pad", 0, pads_nothing},
    {"Cast", 0, keeps_type},          {"Reshape", 0, reshapes_nothing},     {"Slice", 0, slices_nothing},
    {"Expand", 0, expands_nothing},   {"Transpose", 0, transposes_nothing}, {"Split", 0, splits_nothing},
    {"Concat", 0, joins_nothing},     {"Mul", 0, scales_by_one_second},     {"Mul", 1, scales_by_one_first},
    {"Add", 0, adds_zero_second},     {"Add", 1, adds_zero_first},          {"Sub", 0, adds_zero_second},
    {"Div", 0, scales_by_one_second},
};

/// Takes the node out. False when it must stay: both its ends are seen from outside.
bool remove(ir::Graph& graph, ir::NodeId id, ir::ValueId from, ir::ValueId to) {
  ir::GraphEdit edit(graph);
  const ir::Value &input = graph.value(from), &output = graph.value(to);
  const bool fixed = input.is_output || !input.producer.valid();
  if (fixed && output.is_output) return false;
  const std::vector<ir::ValueId> outputs = graph.node(id).outputs;
  edit.remove_node(id);
  if (fixed) {
    edit.replace_uses(to, from);
  } else {
    edit.replace_uses(from, to);
    const ir::Node& producer = graph.node(input.producer);
    const auto place = std::find(producer.outputs.begin(), producer.outputs.end(), from);
    const auto index = static_cast<size_t>(place - producer.outputs.begin());
    edit.set_output(producer.id, index, {});
    edit.set_output(producer.id, index, to);
    edit.remove_value(from);
  }
  for (const ir::ValueId left : outputs) {
    if (left.valid() && !graph.value(left).producer.valid() && graph.use_count(left) == 0) edit.remove_value(left);
  }
  return true;
}

/// Empty constants among the inputs of a Concat add nothing.
void drop_empty_inputs(Scope& scope, ir::NodeId id) {
  const ir::Node node = scope.graph.node(id);
  std::vector<ir::ValueId> kept;
  for (const ir::ValueId input : node.inputs) {
    const ir::Tensor* constant = scope.constant(input);
    if (constant == nullptr || constant->size() > 0) kept.push_back(input);
  }
  if (kept.size() == node.inputs.size() || kept.empty()) return;
  ir::GraphEdit edit(scope.graph);
  const std::vector<ir::ValueId> outputs = node.outputs;
  edit.remove_node(id);
  edit.add_node({node.op, node.domain, node.name, kept, outputs, node.attributes, node.origins});
}

/// The output shape with -1 for the one dimension that is not known, as the shape of the Reshape.
void fix_shape(Scope& scope, ir::NodeId id) {
  const ir::Node& node = scope.graph.node(id);
  const ir::ValueType& type = scope.graph.value(node.output(0)).type;
  if (!node.input(1).valid() || scope.constant(node.input(1)) != nullptr || !type.has_shape) return;
  std::vector<int64_t> shape;
  for (const ir::Dim& dim : type.dims) shape.push_back(dim.size);
  if (std::count(shape.begin(), shape.end(), -1) > 1 || std::count(shape.begin(), shape.end(), 0) > 0) return;
  ir::GraphEdit edit(scope.graph);
  const auto length = static_cast<int64_t>(shape.size());
  const ir::ValueId constant =
      edit.add_initializer(scope.name(node.output(0)) + "_shape", ir::Tensor::from<int64_t>({length}, shape));
  edit.set_input(id, 1, constant);
}

}  // namespace

Status remove_no_ops(Scope& scope) {
  const std::vector<ir::NodeId> order = scope.graph.order();
  for (const ir::NodeId id : order) {
    const ir::Node& node = scope.graph.node(id);
    if (!node.domain.empty() || !node.output(0).valid()) continue;
    if (node.op == "Concat") drop_empty_inputs(scope, id);
    if (!scope.graph.is_alive(id)) continue;
    if (node.op == "Resize" && node.find("mode") == nullptr)
      ir::GraphEdit(scope.graph).node(id).set("mode", std::string("nearest"));
    if (node.op == "Reshape") fix_shape(scope, id);
    for (const NoOpRow& row : kNoOps) {
      if (node.op != row.op || !node.input(row.input).valid() || !row.holds(scope, node)) continue;
      remove(scope.graph, id, node.input(row.input), node.output(0));
      break;
    }
  }
  return Status();
}

}  // namespace quarkq::rewrite::simplify
