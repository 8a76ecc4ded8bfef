// SPDX-License-Identifier: MIT
// What the reference's simplifier knows of shapes in each round (ref:rewrites#simplifier). Its result depends on it: a
// MatMul becomes a Gemm only where the shape is known, and an Add of zeros is dropped only where its shape is.
#include <algorithm>

#include "onnx_io/infer_plainly.h"
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

Status infer_until_error(ir::Model& model, Scope& scope, Diagnostics& diagnostics) {
  const std::vector<ir::NodeId> order = scope.graph.order();
  const auto end =
      std::find_if(order.begin(), order.end(), [&](ir::NodeId id) { return ends_inference(scope.graph.node(id)); });
  if (end == order.end()) return infer_values(model, scope, diagnostics);
  TrackedValues tracked(scope);
  for (auto id = order.begin(); id != end; ++id) {
    for (const ir::ValueId output : scope.graph.node(*id).outputs) {
      if (output.valid()) forget_shape(scope.graph, output);
    }
    QQ_RETURN_IF_ERROR(infer_node(model, scope, *id).status());
    if (scope.graph.node(*id).output(0).valid()) infer_by_values(scope, tracked, *id);
    tracked.visit(scope.graph.node(*id));
  }
  QQ_RETURN_IF_ERROR(onnx_io::infer_types_plainly(model, diagnostics));
  return clean_up(scope);
}

}  // namespace

const ShapeInference kInferAsReference{infer_plainly, infer_until_error};

}  // namespace quarkq::rewrite::simplify
