// SPDX-License-Identifier: MIT
// The shapes known to the reference's simplifier in each round (ref:rewrites#simplifier). Its result depends on them: a
// MatMul becomes a Gemm only if the shape is known, and an Add of zeros is dropped only if its shape is.
#include <algorithm>

#include "onnx_io/infer.h"
#include "rewrite/simplify/node_types.h"
#include "rewrite/simplify/simplify.h"

namespace quarkq::rewrite::simplify {
namespace {

/// Operators, of any domain, at which the reference's inference through values ends with an error.
constexpr std::string_view kEndsInference[] = {
    "Attention",
    "BiasAdd",
    "BiasGelu",
    "BiasSplitGelu",
    "DequantizeLinear",
    "EmbedLayerNormalization",
    "FastGelu",
    "Gelu",
    "GemmFastGelu",
    "GroupNorm",
    "If",
    "LayerNormalization",
    "LongformerAttention",
    "Loop",
    "MultiHeadAttention",
    "NhwcConv",
    "PackedAttention",
    "PythonOp",
    "QuantizeLinear",
    "QuickGelu",
    "RelativePositionBias",
    "RemovePadding",
    "RestorePadding",
    "RotaryEmbedding",
    "Scan",
    "SimplifiedLayerNormalization",
    "SkipGroupNorm",
    "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization",
    "SplitToSequence",
    "ZipMap",
};

bool ends_inference(const ir::Node& node) {
  return std::find(std::begin(kEndsInference), std::end(kEndsInference), node.op) != std::end(kEndsInference);
}

/// Leaves the element type: it does not depend on values. REQUIRES: id is valid.
void forget_shape(ir::Graph& graph, ir::ValueId id) {
  const ir::Value& value = graph.value(id);
  if (value.is_output || !value.type.other_type.empty()) return;
  ir::GraphEdit(graph).set_type(id, {value.type.element, /*has_shape=*/false, {}, {}});
}

/// Shapes that the file holds, and what follows from them and the operators without looking at values.
Status infer_plainly(ir::Model& model, Diagnostics& diagnostics) {
  for (const ir::NodeId id : model.graph.order()) {
    for (const ir::ValueId output : model.graph.node(id).outputs) {
      if (output.valid() && !model.graph.value(output).has_info) forget_shape(model.graph, output);
    }
  }
  return onnx_io::infer_types_plainly(model, diagnostics);
}

/// A Reshape whose open dimension is a quotient by names that its input does not have: the reference fails to write it.
bool divides_by_foreign_names(const Scope& scope, const TrackedValues& tracked, const ir::Node& node) {
  if (!node.is("Reshape")) return false;
  const std::optional<TrackedValue> shape = tracked.find(node.input(1));
  if (!shape || std::ranges::find(shape->elements, MaybeTerm(number_term(-1))) == shape->elements.end()) return false;
  std::vector<std::string> own;
  for (const ir::Dim& dim : scope.graph.value(node.input(0)).type.dims) {
    const MaybeTerm term = term_of(dim);
    if (term) own.insert(own.end(), term->symbols.begin(), term->symbols.end());
  }
  std::ranges::sort(own);
  MaybeTerm divisor = number_term(1);
  for (const MaybeTerm& element : shape->elements) {
    if (element) divisor = multiply(divisor, element);
  }
  return divisor && !std::ranges::includes(own, divisor->symbols);
}

/// Could inference end before the last node?
bool may_end(const Scope& scope) {
  return std::ranges::any_of(scope.graph.order(), [&](ir::NodeId id) {
    const ir::Node& node = scope.graph.node(id);
    return ends_inference(node) || (node.is("Reshape") && scope.constant(node.input(1)) == nullptr);
  });
}

int64_t numbers_in(const ir::ValueType& type) {
  return std::ranges::count_if(type.dims, [](const ir::Dim& dim) { return dim.known(); });
}

/// Keeps the shape with more numbers, of the known and the new one; if equal, the older one: the reference stores both.
void keep_more_numbers(ir::Graph& graph, const std::vector<std::pair<ir::ValueId, ir::ValueType>>& before) {
  for (const auto& [id, old] : before) {
    if (!graph.is_alive(id) || !old.has_shape) continue;
    const ir::ValueType& found = graph.value(id).type;
    if (!found.has_shape || numbers_in(found) <= numbers_in(old)) ir::GraphEdit(graph).set_type(id, old);
  }
}

/// Follows values from node to node. True when it ended with an error, as the reference's does.
Result<bool> follow_to_error(const ir::Model& model, Scope& scope) {
  TrackedValues tracked(scope);
  std::vector<std::pair<ir::ValueId, ir::ValueType>> before;
  const std::vector<ir::NodeId> order = scope.graph.order();
  for (const ir::NodeId id : order) {
    const ir::Node& node = scope.graph.node(id);
    if (ends_inference(node) || divides_by_foreign_names(scope, tracked, node)) {
      keep_more_numbers(scope.graph, before);
      return true;
    }
    for (const ir::ValueId output : node.outputs) {
      if (!output.valid()) continue;
      before.emplace_back(output, scope.graph.value(output).type);
      forget_shape(scope.graph, output);
    }
    QQ_RETURN_IF_ERROR(infer_node(model, scope, id).status());
    if (scope.graph.node(id).output(0).valid()) infer_by_values(scope, tracked, id);
    tracked.visit(scope.graph.node(id));
  }
  return false;
}

Status infer_until_error(ir::Model& model, Scope& scope, Diagnostics& diagnostics) {
  if (!may_end(scope)) return infer_values(model, scope, diagnostics);
  const ir::Graph before = scope.graph;  // shares the weights
  QQ_TRY(const bool has_ended, follow_to_error(model, scope));
  if (!has_ended) {
    scope.graph = before;
    return infer_values(model, scope, diagnostics);
  }
  QQ_RETURN_IF_ERROR(onnx_io::infer_types_plainly(model, diagnostics));
  return clean_up(scope);
}

}  // namespace

const ShapeInference kInferAsReference{infer_plainly, infer_until_error};

}  // namespace quarkq::rewrite::simplify
