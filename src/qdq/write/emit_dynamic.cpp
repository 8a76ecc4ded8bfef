// SPDX-License-Identifier: MIT
// Dynamic quantization (ref:writing#dynamic-quantization): weights become integers now, activations while the model
// runs. Nothing is calibrated.
#include <algorithm>

#include "ir/qdq_nodes.h"
#include "ir/stored_floats.h"
#include "qdq/passes.h"
#include "qdq/write/dynamic_operators.h"
#include "qdq/write/split_gemm.h"

namespace quarkq::qdq {
namespace {

constexpr int64_t kFirstOpset = 11;  // of DynamicQuantizeLinear

/// A Gemm whose product has an operator on integers.
bool is_taken(const pass::QdqContext& context, const ir::Node& node) {
  const ir::Tensor* weight = ir::stored_floats(context.model.graph, node.input(1));
  return is_plain_gemm(context.model.graph, node) && weight->type() == ElementType::kFloat &&
         !context.selection.excluded.contains(node);
}

/// Dequantized values for readers that take floats.
void make_inputs_float(DynamicWriter& writer, ir::NodeId id) {
  const ir::Node node = writer.graph().node(id);
  for (const ir::ValueId input : node.inputs) {
    if (input.valid()) writer.make_float(input);
  }
  for (const ir::Capture& capture : node.captures) writer.make_float(capture.outer);
}

bool uses_domain(const ir::Graph& graph, const char* domain) {
  return std::any_of(graph.order().begin(), graph.order().end(),
                     [&](ir::NodeId id) { return graph.node(id).domain == domain; });
}

}  // namespace

Result<Changed> emit_dynamic(pass::QdqContext& context) {
  ir::Graph& graph = context.graph();
  if (context.model.opset() < kFirstOpset) {
    return invalid_argument("use_dynamic_quant: needs opset ", kFirstOpset, " or more, the model has ",
                            context.model.opset(), "; set ConvertOpsetVersion");
  }
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    if (is_taken(context, graph.node(id))) split_gemm(graph, id);
  }
  DynamicWriter writer(graph);
  bool changed = false;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    writer.stand_before(id);
    const DynamicRule rule = dynamic_rule(graph.node(id));
    bool done = false;
    if (rule != nullptr && context.selection.selects(graph.node(id))) {
      QQ_TRY(done, rule(writer, id, context.settings));
    }
    if (!done) make_inputs_float(writer, id);
    changed |= done;
  }
  writer.stand_before({});
  for (const ir::ValueId output : graph.outputs()) writer.make_float(output);
  ir::GraphEdit(graph).remove_unused_initializers();
  if (uses_domain(graph, ir::kMicrosoftDomain)) context.model.set_opset(ir::kMicrosoftDomain, 1);
  return changed ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::qdq
