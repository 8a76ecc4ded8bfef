// SPDX-License-Identifier: MIT
#include "rewrite/simplify/node_types.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "onnx_io/infer.h"
#include "rewrite/simplify/operands.h"

namespace quarkq::rewrite::simplify {

namespace {

constexpr size_t kMostElements = 1024;

using Maybe = std::optional<TrackedValue>;
using Inputs = std::vector<Maybe>;
using Rule = Maybe(const Scope& scope, const ir::Node& node, const Inputs& inputs);

int64_t count_of(const TrackedValue& value) { return static_cast<int64_t>(value.elements.size()); }

std::vector<MaybeTerm> tracked_dims_of(const Scope& scope, ir::ValueId id) {
  std::vector<MaybeTerm> terms;
  for (const ir::Dim& dim : scope.graph.value(id).type.dims) terms.push_back(term_of(dim));
  return terms;
}

Maybe track_shape(const Scope& scope, const ir::Node& node, const Inputs&) {
  if (!scope.graph.value(node.input(0)).type.has_shape) return std::nullopt;
  const std::vector<MaybeTerm> dims = tracked_dims_of(scope, node.input(0));
  const auto [start, end] = kept_dims(node, static_cast<int64_t>(dims.size()));
  return TrackedValue{false, {dims.begin() + start, dims.begin() + end}};
}

Maybe track_size(const Scope& scope, const ir::Node& node, const Inputs&) {
  if (!scope.graph.value(node.input(0)).type.has_shape) return std::nullopt;
  MaybeTerm product = number_term(1);
  for (const MaybeTerm& dim : tracked_dims_of(scope, node.input(0))) product = multiply(product, dim);
  return TrackedValue{true, {product}};
}

Maybe track_gather(const Scope& scope, const ir::Node& node, const Inputs& inputs) {
  const auto indices = scope.integers(node.input(1));
  if (!inputs[0] || inputs[0]->is_scalar || !indices || node.int_or("axis", 0) > 0) return std::nullopt;
  const int64_t rank = scope.constant(node.input(1))->rank(), count = count_of(*inputs[0]);
  if (rank > 1) return std::nullopt;
  TrackedValue picked{rank == 0, {}};
  for (const int64_t index : *indices) {
    const int64_t place = index < 0 ? index + count : index;
    if (place < 0 || place >= count) return std::nullopt;
    picked.elements.push_back(inputs[0]->elements[static_cast<size_t>(place)]);
  }
  return picked;
}

Maybe track_slice(const Scope& scope, const ir::Node& node, const Inputs& inputs) {
  if (!inputs[0] || inputs[0]->is_scalar) return std::nullopt;
  const auto kept = kept_range(scope, node, count_of(*inputs[0]));
  if (!kept) return std::nullopt;
  const auto& all = inputs[0]->elements;
  return TrackedValue{false, {all.begin() + kept->first, all.begin() + kept->second}};
}

Maybe track_concat(const Scope&, const ir::Node&, const Inputs& inputs) {
  TrackedValue joined;
  for (const Maybe& input : inputs) {
    if (!input || input->is_scalar) return std::nullopt;
    joined.elements.insert(joined.elements.end(), input->elements.begin(), input->elements.end());
  }
  return joined;
}

/// Operators that return the same elements in another rank, which the output's own type specifies.
Maybe track_view(const Scope& scope, const ir::Node& node, const Inputs& inputs) {
  if (!inputs[0]) return std::nullopt;
  const ir::ValueType& type = scope.graph.value(node.output(0)).type;
  if (!type.has_shape || type.dims.size() > 1) return std::nullopt;
  const bool is_scalar = type.dims.empty();
  if (is_scalar && inputs[0]->elements.size() != 1) return std::nullopt;
  return TrackedValue{is_scalar, inputs[0]->elements};
}

Maybe track_cast(const Scope&, const ir::Node& node, const Inputs& inputs) {
  const int64_t to = node.int_or("to", 0);
  const bool whole = to == static_cast<int64_t>(ElementType::kInt64) || to == static_cast<int64_t>(ElementType::kInt32);
  return node.is("Cast") && !whole ? std::nullopt : inputs[0];
}

Maybe track_constant_of_shape(const Scope&, const ir::Node& node, const Inputs& inputs) {
  if (!inputs[0] || inputs[0]->elements.size() > 1) return std::nullopt;
  const auto* value = node.get<ir::Tensor>("value");
  if (value == nullptr || !is_integer(value->type()) || value->size() != 1) return std::nullopt;
  const Result<std::vector<int64_t>> filled = ir::to_int64(*value);
  const bool is_scalar = inputs[0]->elements.empty();
  const MaybeTerm count = is_scalar ? MaybeTerm(number_term(1)) : inputs[0]->elements[0];
  if (!filled.ok() || !count || !count->is_number() || count->factor < 0) return std::nullopt;
  if (count->factor > static_cast<int64_t>(kMostElements)) return std::nullopt;
  return TrackedValue{is_scalar,
                      std::vector<MaybeTerm>(static_cast<size_t>(count->factor), number_term(filled.value()[0]))};
}

Maybe track_arithmetic(const Scope&, const ir::Node& node, const Inputs& inputs) {
  static constexpr struct {
    std::string_view op;
    MaybeTerm (*apply)(const MaybeTerm&, const MaybeTerm&);
  } kOperators[] = {{"Add", add}, {"Sub", subtract}, {"Mul", multiply}, {"Div", divide}};
  if (inputs.size() != 2 || !inputs[0] || !inputs[1]) return std::nullopt;
  const auto &a = inputs[0]->elements, &b = inputs[1]->elements;
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return std::nullopt;
  TrackedValue result{inputs[0]->is_scalar && inputs[1]->is_scalar, {}};
  const size_t count = a.size() == 1 ? b.size() : a.size();
  for (size_t i = 0; i < count; ++i) {
    for (const auto& row : kOperators) {
      if (node.op != row.op) continue;
      result.elements.push_back(row.apply(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]));
    }
  }
  return result;
}

/// 1 or 0; nothing where that depends on the size of a named dimension, which is never negative.
MaybeTerm equal_terms(const MaybeTerm& a, const MaybeTerm& b) {
  if (!a || !b) return std::nullopt;
  if (*a == *b) return number_term(1);
  const bool differ = (a->is_number() && b->is_number()) || (a->is_number() && a->factor < 0 && b->factor >= 0) ||
                      (b->is_number() && b->factor < 0 && a->factor >= 0);
  return differ ? MaybeTerm(number_term(0)) : std::nullopt;
}

/// The element of a list that is as long as the result, or stretched.
const MaybeTerm& element_at(const TrackedValue& value, size_t i) {
  return value.elements[value.elements.size() == 1 ? 0 : i];
}

/// How many elements these have together; nothing when they do not fit.
std::optional<size_t> common_count(const Inputs& inputs) {
  size_t count = 1;
  for (const Maybe& input : inputs) {
    if (!input || input->elements.empty()) return std::nullopt;
    if (input->elements.size() != 1 && count != 1 && input->elements.size() != count) return std::nullopt;
    count = std::max(count, input->elements.size());
  }
  return count;
}

Maybe track_equal(const Scope&, const ir::Node&, const Inputs& inputs) {
  const std::optional<size_t> count = common_count(inputs);
  if (!count || inputs.size() != 2) return std::nullopt;
  TrackedValue result{inputs[0]->is_scalar && inputs[1]->is_scalar, {}};
  for (size_t i = 0; i < *count; ++i) {
    result.elements.push_back(equal_terms(element_at(*inputs[0], i), element_at(*inputs[1], i)));
  }
  return result;
}

/// Shapes of Expand, as PyTorch exports it: Where(Equal(shape, -1), ones, shape).
Maybe track_where(const Scope&, const ir::Node&, const Inputs& inputs) {
  const std::optional<size_t> count = common_count(inputs);
  if (!count || inputs.size() != 3) return std::nullopt;
  TrackedValue result{inputs[0]->is_scalar && inputs[1]->is_scalar && inputs[2]->is_scalar, {}};
  for (size_t i = 0; i < *count; ++i) {
    const MaybeTerm& condition = element_at(*inputs[0], i);
    if (!condition || !condition->is_number()) return std::nullopt;
    result.elements.push_back(element_at(*inputs[condition->factor != 0 ? 1 : 2], i));
  }
  return result;
}

struct RuleRow {
  std::string_view op;
  Rule* track;
};

constexpr RuleRow kRules[] = {
    {"Shape", track_shape},    {"Size", track_size},      {"Gather", track_gather},
    {"Slice", track_slice},    {"Concat", track_concat},  {"Squeeze", track_view},
    {"Unsqueeze", track_view}, {"Reshape", track_view},   {"Cast", track_cast},
    {"Identity", track_cast},  {"Add", track_arithmetic}, {"Sub", track_arithmetic},
    {"Mul", track_arithmetic}, {"Div", track_arithmetic}, {"ConstantOfShape", track_constant_of_shape},
    {"Equal", track_equal},    {"Where", track_where},
};

/// Integers of 32 and 64 bits hold shapes, and truths decide between them; a type not known yet may be one.
bool may_hold_shapes(ElementType element) {
  return element == ElementType::kInt64 || element == ElementType::kInt32 || element == ElementType::kBool ||
         element == ElementType::kUndefined;
}

}  // namespace

std::optional<TrackedValue> TrackedValues::find(ir::ValueId value) const {
  if (!value.valid()) return std::nullopt;
  if (const ir::Tensor* constant = scope_.constant(value)) {
    if (constant->rank() > 1 || constant->size() > static_cast<int64_t>(kMostElements)) return std::nullopt;
    if (!may_hold_shapes(constant->type())) return std::nullopt;
    const Result<std::vector<int64_t>> numbers = ir::to_int64(*constant);
    if (!numbers.ok()) return std::nullopt;
    TrackedValue held{constant->rank() == 0, {}};
    for (const int64_t number : numbers.value()) held.elements.emplace_back(number_term(number));
    return held;
  }
  return values_[static_cast<size_t>(value.index)];
}

void TrackedValues::visit(const ir::Node& node) {
  if (!node.domain.empty() || node.outputs.size() != 1 || !node.input(0).valid()) return;
  if (!may_hold_shapes(scope_.graph.value(node.output(0)).type.element)) return;
  for (const RuleRow& row : kRules) {
    if (node.op != row.op) continue;
    Inputs inputs;
    for (const ir::ValueId input : node.inputs) inputs.push_back(find(input));
    Maybe tracked = row.track(scope_, node, inputs);
    if (tracked && tracked->elements.size() <= kMostElements)
      values_[static_cast<size_t>(node.output(0).index)] = std::move(tracked);
    return;
  }
}

namespace {

using Terms = std::vector<MaybeTerm>;

constexpr double kMostSteps = 1e9;  // Upper bound on the length of a Range; longer ranges are not dimensions of a
                                    // network.

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

/// Returns each dimension multiplied by its element.
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
  for (size_t i = 0; i < known.dims.size(); ++i) {  // dimensions without better information keep their invented name
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
  Diagnostics ignored;  // the whole model's inference reports its faults
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
