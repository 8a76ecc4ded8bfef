// SPDX-License-Identifier: MIT
#include "onnx_io/opset_adapters.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "onnx_io/library.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {
namespace {

constexpr const char* kHidden = "quarkq.hidden";  ///< domain of nodes that the library must not touch
constexpr int64_t kOldestOpset = 7;               ///< below it everything is left to the library

bool is_of_onnx(const onnx::NodeProto& node) { return node.domain().empty() || node.domain() == "ai.onnx"; }

std::string label(const onnx::NodeProto& node) {
  const bool has_name = !node.name().empty() || node.output_size() == 0;
  return cat("node ", has_name ? node.name() : node.output(0), " (", node.op_type(), ")");
}

onnx::AttributeProto* find_attribute(onnx::NodeProto& node, std::string_view name) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

void remove_attribute(onnx::NodeProto& node, std::string_view name) {
  auto& attributes = *node.mutable_attribute();
  for (auto it = attributes.begin(); it != attributes.end();) it = it->name() == name ? attributes.erase(it) : it + 1;
}

void set_ints(onnx::NodeProto& node, const char* name, const std::vector<int64_t>& values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  attribute.mutable_ints()->Add(values.begin(), values.end());
}

/// Removes omitted optional inputs at the end of the list.
void drop_trailing_inputs(onnx::NodeProto& node) {
  while (node.input_size() > 0 && node.input(node.input_size() - 1).empty()) node.mutable_input()->RemoveLast();
}

/// The values that the nodes of a graph can read, including values of enclosing graphs.
class Scope {
 public:
  Scope(const onnx::GraphProto& graph, const Scope* outer) : outer_(outer) {
    for (const onnx::TensorProto& tensor : graph.initializer()) constants_[tensor.name()] = &tensor;
    for (const onnx::NodeProto& node : graph.node()) {
      if (node.op_type() != "Constant" || !is_of_onnx(node) || node.output_size() == 0) continue;
      for (const onnx::AttributeProto& attribute : node.attribute())
        if (attribute.name() == "value") constants_[node.output(0)] = &attribute.t();
    }
    for (const auto* infos : {&graph.input(), &graph.value_info(), &graph.output()})
      for (const onnx::ValueInfoProto& info : *infos) types_[info.name()] = &info.type();
  }

  /// Numbers of a stored integer tensor; nullopt if the value is not stored.
  std::optional<std::vector<int64_t>> integers(const std::string& name) const {
    const auto found = constants_.find(name);
    if (found == constants_.end()) return outer_ == nullptr ? std::nullopt : outer_->integers(name);
    onnx::TensorProto copy = *found->second;
    ExternalFiles no_files("");
    const Result<ir::Tensor> tensor = take_tensor(copy, no_files);
    if (!tensor.ok()) return std::nullopt;
    const Result<std::vector<int64_t>> numbers = ir::to_int64(tensor.value());
    return numbers.ok() ? std::optional(numbers.value()) : std::nullopt;
  }

  /// Dimensions of a value, -1 for unknown ones; nullopt if its rank is not known.
  std::optional<std::vector<int64_t>> dims(const std::string& name) const {
    if (const auto stored = constants_.find(name); stored != constants_.end())
      return std::vector<int64_t>(stored->second->dims().begin(), stored->second->dims().end());
    const auto found = types_.find(name);
    if (found == types_.end()) return outer_ == nullptr ? std::nullopt : outer_->dims(name);
    const onnx::TypeProto& type = *found->second;
    if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return std::nullopt;
    std::vector<int64_t> dims;
    for (const auto& dim : type.tensor_type().shape().dim()) dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    return dims;
  }

  /// Element type of a tensor; nullopt if it is not known.
  std::optional<ElementType> element(const std::string& name) const {
    if (const auto stored = constants_.find(name); stored != constants_.end())
      return element_type_from_wire(stored->second->data_type());
    const auto found = types_.find(name);
    if (found == types_.end()) return outer_ == nullptr ? std::nullopt : outer_->element(name);
    return element_type_from_wire(found->second->tensor_type().elem_type());
  }

 private:
  const Scope* outer_;
  std::unordered_map<std::string, const onnx::TensorProto*> constants_;
  std::unordered_map<std::string, const onnx::TypeProto*> types_;
};

/// The stored list in input 1, nullopt if the input is absent. kUnsupported if the model computes it.
Result<std::optional<std::vector<int64_t>>> list_input(const onnx::NodeProto& node, const Scope& scope) {
  using List = std::optional<std::vector<int64_t>>;
  if (node.input_size() < 2 || node.input(1).empty()) return List();
  List list = scope.integers(node.input(1));
  if (!list) return unsupported("input ", node.input(1), " is computed, the opset needs a stored list");
  return list;
}

/// Reduce*, Squeeze, Unsqueeze: input `axes` becomes an attribute.
Status axes_to_attribute(onnx::NodeProto& node, const Scope& scope) {
  QQ_TRY(const auto axes, list_input(node, scope));
  const onnx::AttributeProto* noop = find_attribute(node, "noop_with_empty_axes");
  const bool is_noop = noop != nullptr && noop->i() != 0 && (!axes || axes->empty());
  remove_attribute(node, "noop_with_empty_axes");
  if (node.input_size() > 1) node.mutable_input()->DeleteSubrange(1, node.input_size() - 1);
  if (is_noop) {
    // Only these return their input for one element each; the others still apply their function to it.
    constexpr std::string_view kPlain[] = {"ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"};
    if (std::ranges::find(kPlain, node.op_type()) == std::end(kPlain))
      return unsupported("noop_with_empty_axes without axes has no counterpart in the opset");
    node.set_op_type("Identity");
    node.clear_attribute();
  } else if (axes && !axes->empty()) {
    set_ints(node, "axes", *axes);
  }
  return Status();
}

/// Split of opset 13 to 17 has no num_outputs: parts that are not equal are listed.
Status split_without_count(onnx::NodeProto& node, const Scope& scope, std::vector<int64_t>& sizes) {
  remove_attribute(node, "num_outputs");
  if (node.input_size() > 1 && !node.input(1).empty()) return Status();
  const onnx::AttributeProto* given = find_attribute(node, "axis");
  const auto dims = scope.dims(node.input(0));
  const int64_t rank = dims ? static_cast<int64_t>(dims->size()) : 0, axis = given == nullptr ? 0 : given->i();
  if (axis < -rank || axis >= rank) return unsupported("the rank of its input is not known");
  const int64_t length = (*dims)[static_cast<size_t>(axis < 0 ? axis + rank : axis)], parts = node.output_size();
  if (length < 0) return unsupported("the length of the axis that it splits is not known");
  if (length % parts == 0) return Status();
  const int64_t part = (length + parts - 1) / parts;
  for (int64_t i = 0; i < parts; ++i) sizes.push_back(std::max<int64_t>(0, std::min(part, length - i * part)));
  return Status();
}

Status split_to_attribute(onnx::NodeProto& node, const Scope& scope) {
  std::vector<int64_t> sizes;
  QQ_RETURN_IF_ERROR(split_without_count(node, scope, sizes));
  QQ_TRY(const auto split, list_input(node, scope));
  if (node.input_size() > 1) node.mutable_input()->DeleteSubrange(1, node.input_size() - 1);
  if (split) sizes = *split;
  if (!sizes.empty()) set_ints(node, "split", sizes);
  return Status();
}

Status split_with_equal_parts(onnx::NodeProto& node, const Scope& scope) {
  std::vector<int64_t> sizes;
  QQ_RETURN_IF_ERROR(split_without_count(node, scope, sizes));
  return sizes.empty() ? Status()
                       : unsupported("its parts are not equal, which this opset cannot express by their number");
}

/// Softmax below opset 13 works on a matrix: along the last axis both mean the same.
Status softmax_of_matrix(onnx::NodeProto& node, const Scope& scope) {
  const auto dims = scope.dims(node.input(0));
  if (!dims) return unsupported("the rank of its input is not known");
  const auto last = static_cast<int64_t>(dims->size()) - 1;
  const onnx::AttributeProto* given = find_attribute(node, "axis");
  const int64_t axis = given == nullptr ? -1 : given->i();
  if (axis != -1 && axis != last) return unsupported("the opset has no counterpart along axis ", axis);
  remove_attribute(node, "axis");
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("axis");
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(std::max<int64_t>(last, 0));
  return Status();
}

/// Conversions downwards over opset `step`, which brought a new form: from `step` and later to earlier ones.
struct Adapter {
  std::string_view op;
  int64_t step;
  Status (*adapt)(onnx::NodeProto&, const Scope&);
};

/// Below opset 28 the remainder of real numbers is that of C.
Status mod_of_integers(onnx::NodeProto& node, const Scope& scope) {
  const onnx::AttributeProto* fmod = find_attribute(node, "fmod");
  if (fmod != nullptr && fmod->i() != 0) return Status();
  const std::optional<ElementType> type = scope.element(node.input(0));
  if (!type) return unsupported("the type of its input is not known");
  return is_floating(*type) ? unsupported("fmod = 0 of ", name(*type), " needs opset 28") : Status();
}

constexpr Adapter kAdapters[] = {
    {"Hardmax", 13, softmax_of_matrix},
    {"LogSoftmax", 13, softmax_of_matrix},
    {"Mod", 28, mod_of_integers},
    {"ReduceL1", 18, axes_to_attribute},
    {"ReduceL2", 18, axes_to_attribute},
    {"ReduceLogSum", 18, axes_to_attribute},
    {"ReduceLogSumExp", 18, axes_to_attribute},
    {"ReduceMax", 18, axes_to_attribute},
    {"ReduceMean", 18, axes_to_attribute},
    {"ReduceMin", 18, axes_to_attribute},
    {"ReduceProd", 18, axes_to_attribute},
    {"ReduceSum", 13, axes_to_attribute},
    {"ReduceSumSquare", 18, axes_to_attribute},
    {"Softmax", 13, softmax_of_matrix},
    {"Split", 13, split_to_attribute},
    {"Split", 18, split_with_equal_parts},
    {"Squeeze", 13, axes_to_attribute},
    {"Unsqueeze", 13, axes_to_attribute},
};

/// Operators whose meaning changed in opset `step` although their schemas allow the same nodes.
struct Change {
  std::string_view op;
  int64_t step;
};

constexpr Change kChanges[] = {
    {"GroupNormalization", 21},  // scale and bias per channel instead of per group
    {"Max", 8},                  // broadcasting
    {"Mean", 8},
    {"Min", 8},
    {"OneHot", 11},  // negative indices
    {"Scan", 9},     // no batch dimension
    {"Split", 18},   // without sizes needs num_outputs
    {"Sum", 8},
};

/// Values of attributes that opset `since` brought.
struct NewValue {
  std::string_view op, attribute, value;
  int64_t since;
};

constexpr NewValue kNewValues[] = {
    {"Pad", "mode", "wrap", 19},
    {"Resize", "coordinate_transformation_mode", "half_pixel_symmetric", 19},
    {"ScatterElements", "reduction", "max", 18},
    {"ScatterElements", "reduction", "min", 18},
    {"ScatterND", "reduction", "max", 18},
    {"ScatterND", "reduction", "min", 18},
};

class NodeAdapter {
 public:
  NodeAdapter(int64_t from, int64_t to) : from_(from), to_(to) {}

  /// Checks a graph that is left to the library with all its nodes.
  static Status check_all(onnx::GraphProto& graph, const Scope* outer) {
    const Scope scope(graph, outer);
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      for (onnx::GraphProto* nested : nested_graphs(node)) QQ_RETURN_IF_ERROR(check_all(*nested, &scope));
      if (is_of_onnx(node)) QQ_RETURN_IF_ERROR(check_for_library(node, scope).context(label(node)));
    }
    return Status();
  }

  /// Returns true if nodes of the graph are left for the library.
  Result<bool> adapt(onnx::GraphProto& graph, const Scope* outer) const {
    const Scope scope(graph, outer);
    std::vector<onnx::NodeProto> adapted(graph.node().begin(), graph.node().end());
    bool is_left = false;
    for (onnx::NodeProto& node : adapted) {
      Result<bool> left = adapt(node, scope);
      if (!left.ok()) return std::move(left).context(label(node)).status();
      is_left = is_left || left.value();
    }
    // `scope` points into the graph's own nodes until here.
    for (int i = 0; i < graph.node_size(); ++i) graph.mutable_node(i)->Swap(&adapted[static_cast<size_t>(i)]);
    return is_left;
  }

 private:
  bool goes_down_over(int64_t step) const { return from_ >= step && to_ < step; }
  bool crosses(int64_t step) const { return goes_down_over(step) || (from_ < step && to_ >= step); }

  Result<bool> adapt(onnx::NodeProto& node, const Scope& scope) const {
    bool is_left = false;
    for (onnx::GraphProto* nested : nested_graphs(node)) {
      QQ_TRY(const bool inside, adapt(*nested, &scope));
      is_left = is_left || inside;
    }
    if (!is_of_onnx(node)) return is_left;
    QQ_RETURN_IF_ERROR(check_values(node));
    drop_trailing_inputs(node);
    QQ_TRY(const bool is_converted, convert(node, scope));
    if (is_converted && !is_left) node.set_domain(kHidden);
    if (!is_converted) QQ_RETURN_IF_ERROR(check_for_library(node, scope));
    return is_left || !is_converted;
  }

  Status check_values(onnx::NodeProto& node) const {
    for (const NewValue& row : kNewValues) {
      if (row.op != node.op_type() || to_ >= row.since) continue;
      const onnx::AttributeProto* attribute = find_attribute(node, row.attribute);
      if (attribute != nullptr && attribute->s() == row.value)
        return unsupported(row.attribute, " = ", row.value, " needs opset ", row.since);
    }
    return Status();
  }

  /// Returns true if the node is what opset `to` wants, as it was or after an adapter.
  Result<bool> convert(onnx::NodeProto& node, const Scope& scope) const {
    for (const Adapter& row : kAdapters) {
      if (row.op != node.op_type() || !goes_down_over(row.step)) continue;
      QQ_RETURN_IF_ERROR(row.adapt(node, scope));
      return true;
    }
    const bool is_other =
        std::ranges::any_of(kChanges, [&](const Change& row) { return row.op == node.op_type() && crosses(row.step); });
    if (is_other) return false;
    drop_idle_attributes(node, from_, to_);
    return means_the_same(node, from_, to_);
  }

  /// Checks the preconditions of the library's adapters: they count a negative axis from rank 0 if the rank is unknown.
  static Status check_for_library(onnx::NodeProto& node, const Scope& scope) {
    if (node.op_type() == "Gemm") {
      for (int input = 0; input < std::min(node.input_size(), 2); ++input) {
        const auto dims = scope.dims(node.input(input));
        if (!dims || dims->size() != 2) return unsupported("input ", node.input(input), " is not known to be a matrix");
      }
    }
    const onnx::AttributeProto* axis = find_attribute(node, "axis");
    const bool needs_rank = node.op_type() == "GroupNormalization" || (axis != nullptr && axis->i() < 0);
    if (needs_rank && node.input_size() > 0 && !scope.dims(node.input(0)))
      return unsupported("the rank of its input is not known");
    return Status();
  }

  int64_t from_, to_;
};

}  // namespace

Result<bool> adapt_nodes(onnx::ModelProto& model, int64_t from, int64_t to) {
  if (std::min(from, to) < kOldestOpset) {
    QQ_RETURN_IF_ERROR(NodeAdapter::check_all(*model.mutable_graph(), nullptr));
    return true;
  }
  return NodeAdapter(from, to).adapt(*model.mutable_graph(), nullptr);
}

void reveal_nodes(onnx::GraphProto& graph) {
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    if (node.domain() == kHidden) node.clear_domain();
    for (onnx::GraphProto* nested : nested_graphs(node)) reveal_nodes(*nested);
  }
}

}  // namespace quarkq::onnx_io
