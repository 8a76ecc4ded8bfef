// SPDX-License-Identifier: MIT
// Shape inference that follows small integer tensors: the library's own inference alternates with output shapes of
// Reshape, Expand and ConstantOfShape that it could not compute, until neither finds anything new.
#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "onnx_io/infer.h"
#include "rewrite/simplify/node_types.h"
#include "rewrite/simplify/simplify.h"

namespace quarkq::rewrite::simplify {

// SimplifyModelOptions.input_shapes: "name:1,3,224,224" fixes the dimensions of a graph input before the first round.

namespace {

Result<std::vector<ir::Dim>> read_dims(const std::string& entry, const std::string& text) {
  std::vector<ir::Dim> dims;
  for (const std::string& part : split(text, ',')) {
    int64_t size = -1;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (error != std::errc() || end != part.data() + part.size() || size < 0)
      return invalid_argument("input_shapes '", entry, "': '", part, "' is not a dimension");
    dims.push_back({size, {}});
  }
  return dims;
}

}  // namespace

Status set_input_shapes(ir::Model& model, const Options& options) {
  for (const std::string& entry : options.input_shapes) {
    const size_t colon = entry.rfind(':');  // names may hold colons, dimensions do not
    if (colon == std::string::npos)
      return invalid_argument("input_shapes '", entry, "': not of the form name:1,3,224,224");
    QQ_TRY(std::vector<ir::Dim> dims, read_dims(entry, entry.substr(colon + 1)));
    const ir::ValueId input = model.graph.find(entry.substr(0, colon));
    if (!input.valid() || !model.graph.value(input).is_input)
      return invalid_argument("input_shapes '", entry, "': the model has no such input");
    ir::ValueType type = model.graph.value(input).type;
    if (type.has_shape && type.dims.size() != dims.size())
      return invalid_argument("input_shapes '", entry, "': the input has ", type.dims.size(), " dimensions");
    type.has_shape = true;
    type.dims = std::move(dims);
    ir::GraphEdit(model.graph).set_type(input, std::move(type));
  }
  return Status();
}

namespace {

/// The numbers as a tensor of a type that shapes and what decides between them have.
std::optional<ir::Tensor> tensor_of(ElementType type, const ir::Shape& dims, const std::vector<int64_t>& numbers) {
  if (type == ElementType::kInt64) return ir::Tensor::from<int64_t>(dims, numbers);
  if (type == ElementType::kInt32)
    return ir::Tensor::from<int32_t>(dims, std::vector<int32_t>(numbers.begin(), numbers.end()));
  if (type != ElementType::kBool) return std::nullopt;
  ir::Tensor truths = ir::Tensor::zeros(type, dims);
  std::copy(numbers.begin(), numbers.end(), truths.mutable_data<uint8_t>().begin());
  return truths;
}

/// A tensor that turned out to be all numbers, unless ordinary folding gets it.
bool store_numbers(Scope& scope, const TrackedValue& value, ir::NodeId id) {
  const ir::Node& node = scope.graph.node(id);
  const ir::ValueId output = node.output(0);
  if (scope.graph.value(output).is_output || node.is("Constant")) return false;
  bool computed = false;
  for (const ir::ValueId input : node.inputs)
    computed = computed || (input.valid() && scope.constant(input) == nullptr);
  std::vector<int64_t> numbers;
  for (const MaybeTerm& element : value.elements) {
    if (!element || !element->is_number()) return false;
    numbers.push_back(element->factor);
  }
  if (!computed) return false;
  const ElementType type = scope.graph.value(output).type.element;
  const ir::Shape dims = value.is_scalar ? ir::Shape() : ir::Shape{static_cast<int64_t>(numbers.size())};
  const std::optional<ir::Tensor> tensor = tensor_of(type, dims, numbers);
  if (!tensor) return false;
  ir::GraphEdit edit(scope.graph);
  edit.remove_node(id);
  edit.set_constant(output, *tensor);
  return true;
}

/// One walk over the nodes: what improved is propagated to the readers. True when a type got better.
Result<bool> follow_values(const ir::Model& model, Scope& scope) {
  TrackedValues tracked(scope);
  std::vector<bool> better(scope.graph.value_count(), false);
  bool any = false;
  const std::vector<ir::NodeId> order = scope.graph.order();
  for (const ir::NodeId id : order) {
    const ir::Node& node = scope.graph.node(id);
    if (!node.output(0).valid()) continue;
    const bool fed_better = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId input) {
      return input.valid() && better[static_cast<size_t>(input.index)];
    });
    bool improved = false;
    if (fed_better) {
      QQ_TRY(improved, infer_node(model, scope, id));
    }
    improved = infer_by_values(scope, tracked, id) || improved;
    for (const ir::ValueId output : node.outputs) {
      if (output.valid()) better[static_cast<size_t>(output.index)] = improved;
    }
    any = any || improved;
    tracked.visit(node);
    if (const auto value = tracked.find(node.output(0))) store_numbers(scope, *value, id);
  }
  return any;
}

/// Takes the symbols of computed values out, so that inference names their dimensions again: those it invented when
/// less was known ("unk__7") would hide that two dimensions are the same.
std::vector<ir::ValueType> forget_symbols(ir::Graph& graph) {
  std::vector<ir::ValueType> before(graph.value_count());
  for (const ir::NodeId id : graph.order()) {
    for (const ir::ValueId output : graph.node(id).outputs) {
      if (!output.valid() || graph.value(output).is_output) continue;
      ir::ValueType type = graph.value(output).type;
      before[static_cast<size_t>(output.index)] = type;
      for (ir::Dim& dim : type.dims) dim.symbol.clear();
      ir::GraphEdit(graph).set_type(output, std::move(type));
    }
  }
  return before;
}

/// Restores the model's names of dimensions that inference left without a name.
void restore_symbols(ir::Graph& graph, const std::vector<ir::ValueType>& before) {
  for (size_t i = 0; i < before.size(); ++i) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (!graph.is_alive(id) || before[i].dims.size() != graph.value(id).type.dims.size()) continue;
    ir::ValueType type = graph.value(id).type;
    for (size_t d = 0; d < type.dims.size(); ++d) {
      const std::string& symbol = before[i].dims[d].symbol;
      if (!type.dims[d].known() && type.dims[d].symbol.empty() && !is_invented(symbol)) type.dims[d].symbol = symbol;
    }
    ir::GraphEdit(graph).set_type(id, std::move(type));
  }
}

}  // namespace

Status infer_values(ir::Model& model, Scope& scope, Diagnostics& diagnostics) {
  constexpr int kMostTurns = 4;
  const std::vector<ir::ValueType> before = forget_symbols(model.graph);
  for (int turn = 0; turn < kMostTurns; ++turn) {
    QQ_RETURN_IF_ERROR(onnx_io::infer_types(model, diagnostics));
    if (turn == 0) restore_symbols(model.graph, before);
    QQ_TRY(const bool better, follow_values(model, scope));
    if (!better) break;
  }
  return clean_up(scope);
}

const ShapeInference kInferByValues{[](ir::Model&, Diagnostics&) { return Status(); }, infer_values};

}  // namespace quarkq::rewrite::simplify
