// SPDX-License-Identifier: MIT
#include "rewrite/simplify/node_types.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "onnx_io/infer.h"

namespace quarkq::rewrite::simplify {
namespace {

using Terms = std::vector<MaybeTerm>;

constexpr double kMostSteps = 1e9;  // of a Range; what is longer is no dimension that a network has

Terms dims_of(const ir::ValueType& type) {
  Terms terms;
  for (const ir::Dim& dim : type.dims) terms.push_back(term_of(dim));
  return terms;
}

/// 0 copies a dimension of the input, -1 is what is left over.
Terms reshaped(const ir::ValueType& input, Terms shape, bool allow_zero) {
  const Terms from = dims_of(input);
  MaybeTerm left = input.has_shape ? MaybeTerm(number_term(1)) : std::nullopt;
  for (const MaybeTerm& dim : from) left = multiply(left, dim);
  std::optional<size_t> open;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == number_term(0) && !allow_zero) shape[i] = i < from.size() ? from[i] : std::nullopt;
    if (shape[i] == number_term(-1)) {
      open = i;
    } else {
      left = divide(left, shape[i]);
    }
  }
  if (open) shape[*open] = left;
  return shape;
}

Terms expanded(const ir::ValueType& input, const Terms& shape) {
  if (!input.has_shape) return Terms();
  const Terms from = dims_of(input);
  Terms result(std::max(from.size(), shape.size()));
  for (size_t i = 0; i < result.size(); ++i) {  // counted from the back
    const MaybeTerm a = i < from.size() ? from[from.size() - 1 - i] : MaybeTerm(number_term(1));
    const MaybeTerm b = i < shape.size() ? shape[shape.size() - 1 - i] : MaybeTerm(number_term(1));
    MaybeTerm& dim = result[result.size() - 1 - i];
    if (a == number_term(1)) {
      dim = b;
    } else if (b == number_term(1) || a == b) {
      dim = a;
    } else if (a && a->is_number()) {
      dim = a;
    }
  }
  return result;
}

/// Each dimension as often as its element says.
Terms tiled(const ir::ValueType& input, const Terms& repeats) {
  Terms dims = dims_of(input);
  if (dims.size() != repeats.size()) return Terms();
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = multiply(dims[i], repeats[i]);
  return dims;
}

/// Output dimensions that follow from a tracked shape operand.
std::optional<Terms> dims_by_operand(const Scope& scope, const TrackedValues& tracked, const ir::Node& node) {
  const bool is_fill = node.is("ConstantOfShape");
  const std::optional<TrackedValue> shape = tracked.find(node.input(is_fill ? 0 : 1));
  if (!shape || shape->is_scalar) return std::nullopt;
  if (is_fill) return shape->elements;
  const ir::ValueType& input = scope.graph.value(node.input(0)).type;
  if (node.op == "Reshape") return reshaped(input, shape->elements, node.int_or("allowzero", 0) != 0);
  Terms dims = node.op == "Tile" ? tiled(input, shape->elements) : expanded(input, shape->elements);
  return dims.empty() ? std::nullopt : std::optional(std::move(dims));
}

/// How many steps a Range of tracked whole numbers has; from 0 by 1 up to a named dimension, too.
std::optional<Terms> dims_of_range(const Scope&, const TrackedValues& tracked, const ir::Node& node) {
  MaybeTerm operands[3];
  for (size_t i = 0; i < 3; ++i) {
    const std::optional<TrackedValue> found = tracked.find(node.input(i));
    if (!found || found->elements.size() != 1 || !found->elements[0]) return std::nullopt;
    operands[i] = found->elements[0];
  }
  const MaybeTerm &start = operands[0], &limit = operands[1], &delta = operands[2];
  if (start == number_term(0) && delta == number_term(1) && limit->factor >= 0) return Terms{limit};
  if (!start->is_number() || !limit->is_number() || !delta->is_number() || delta->factor == 0) return std::nullopt;
  const double steps =
      (static_cast<double>(limit->factor) - static_cast<double>(start->factor)) / static_cast<double>(delta->factor);
  if (std::fabs(steps) > kMostSteps) return std::nullopt;
  return Terms{number_term(static_cast<int64_t>(std::max(0.0, std::ceil(steps))))};
}

/// Operators whose output's shape depends on values.
constexpr struct {
  std::string_view op;
  std::optional<Terms> (*dims)(const Scope&, const TrackedValues&, const ir::Node&);
} kShapedByValues[] = {{"ConstantOfShape", dims_by_operand},
                       {"Reshape", dims_by_operand},
                       {"Expand", dims_by_operand},
                       {"Tile", dims_by_operand},
                       {"Range", dims_of_range}};

std::optional<Terms> output_dims(const Scope& scope, const TrackedValues& tracked, const ir::Node& node) {
  for (const auto& row : kShapedByValues) {
    if (node.is(row.op)) return row.dims(scope, tracked, node);
  }
  return std::nullopt;
}

/// Puts what is known into the gaps of the value's type. True when there were such gaps.
bool fill_type(ir::Graph& graph, ir::ValueId id, const ir::ValueType& found) {
  const ir::ValueType before = graph.value(id).type;
  ir::ValueType known = before;
  for (ir::Dim& dim : known.dims) {
    if (is_invented(dim.symbol)) dim.symbol.clear();
  }
  ir::ValueType merged = onnx_io::merge_types(known, found);
  for (size_t i = 0; i < known.dims.size(); ++i) {  // what nothing better is known of keeps its invented name
    if (!merged.dims[i].known() && merged.dims[i].symbol.empty()) merged.dims[i] = before.dims[i];
  }
  if (merged == before) return false;
  ir::GraphEdit(graph).set_type(id, std::move(merged));
  return true;
}

ir::ValueType type_of(const Terms& dims) {
  ir::ValueType type;
  type.has_shape = true;
  for (const MaybeTerm& dim : dims) type.dims.push_back(dim_of(dim));
  return type;
}

/// A model of this node alone, its inputs as far as they are known.
ir::Model lone_node(const ir::Model& model, const Scope& scope, const ir::Node& node) {
  ir::Model lone;
  lone.opsets = model.opsets;
  lone.opset_order = model.opset_order;
  lone.ir_version = model.ir_version;
  ir::GraphEdit edit(lone.graph);
  ir::NodeSpec spec{node.op, node.domain, node.name, {}, {}, node.attributes};
  for (const ir::ValueId input : node.inputs) {
    ir::ValueId copy = input.valid() ? lone.graph.find(scope.name(input)) : ir::ValueId();
    if (input.valid() && !copy.valid()) {
      copy = edit.add_value(scope.name(input), scope.graph.value(input).type);
      const ir::Tensor* constant = scope.constant(input);
      constant != nullptr ? edit.set_constant(copy, *constant) : edit.add_graph_input(copy);
    }
    spec.inputs.push_back(copy);
  }
  for (const ir::ValueId output : node.outputs) {
    spec.outputs.push_back(output.valid() ? edit.add_value(scope.name(output)) : ir::ValueId());
    if (output.valid()) edit.add_graph_output(spec.outputs.back());
  }
  edit.add_node(std::move(spec));
  return lone;
}

}  // namespace

bool is_invented(const std::string& symbol) { return symbol.starts_with("unk__"); }

Result<bool> infer_node(const ir::Model& model, Scope& scope, ir::NodeId id) {
  const ir::Node& node = scope.graph.node(id);
  if (!node.captures.empty()) return false;
  std::set<std::string> symbols;
  for (const ir::ValueId input : node.inputs) {
    if (!input.valid()) continue;
    for (const ir::Dim& dim : scope.graph.value(input).type.dims) symbols.insert(dim.symbol);
  }
  ir::Model lone = lone_node(model, scope, node);
  Diagnostics ignored;  // the whole model's inference says what is wrong with it
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(lone, ignored));
  bool better = false;
  const std::vector<ir::ValueId> outputs = node.outputs;
  for (const ir::ValueId output : outputs) {
    if (!output.valid()) continue;
    ir::ValueType found = lone.graph.value(lone.graph.find(scope.name(output))).type;
    for (ir::Dim& dim : found.dims) {
      if (!symbols.contains(dim.symbol)) dim.symbol.clear();
    }
    better = fill_type(scope.graph, output, found) || better;
  }
  return better;
}

bool infer_by_values(Scope& scope, const TrackedValues& tracked, ir::NodeId id) {
  const ir::Node& node = scope.graph.node(id);
  const std::optional<Terms> dims = output_dims(scope, tracked, node);
  return dims && fill_type(scope.graph, node.output(0), type_of(*dims));
}

}  // namespace quarkq::rewrite::simplify
