// SPDX-License-Identifier: MIT
// The float model that a quantized one stands for: pairs and block formats go, stored integers become floats.
#include "ir/quantizing_ops.h"
#include "plan/lowering/qdq_names.h"
#include "qdq/convert/conversions.h"
#include "qdq/pairs.h"

namespace quarkq::qdq {
namespace {

/// The DQ's output becomes the constant that it makes.
Status store_as_float(ir::Model& model, const ir::Node& dq) {
  ir::Graph& graph = model.graph;
  QQ_TRY(ir::Tensor values, dequantized(model, dq));
  if (graph.value(dq.output(0)).is_output)
    return unsupported(graph.label(dq.id), ": its constant is an output of the graph, which has to be computed");
  ir::GraphEdit edit(graph);
  edit.remove_node(dq.id);
  edit.set_constant(dq.output(0), std::move(values));
  return Status();
}

/// "w_quantized" stands for "w".
void take_float_name(ir::GraphEdit& edit, ir::ValueId value, const std::string& stored) {
  const std::string suffix = plan::stored_name("");
  if (stored.ends_with(suffix)) edit.rename(value, stored.substr(0, stored.size() - suffix.size()));
}

/// What still quantizes: a node that stands for no float operator.
Status check_is_float(const ir::Graph& graph) {
  for (const ir::NodeId id : graph.order()) {
    const ir::QuantizingPart part = ir::quantizing_part(graph.node(id).op);
    if (part == ir::QuantizingPart::kNone) continue;
    if (part == ir::QuantizingPart::kProduct)
      return unsupported(graph.label(id), ": computes with integers, only Q/DQ and block formats can be made float");
    return unsupported(graph.label(id), ": is no part of a pair, its integers are fed, read or computed elsewhere");
  }
  return Status();
}

}  // namespace

Result<size_t> dequantize(pass::ConvertContext& context) {
  ir::Graph& graph = context.graph();
  QQ_TRY(size_t changes, remove_qdq(context));
  std::vector<std::pair<ir::ValueId, std::string>> stored;  // constants, and the names of their integers
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    if (!graph.is_alive(id)) continue;
    const ir::Node node = graph.node(id);
    const bool is_stored = node.input(0).valid() && graph.constant(node.input(0)) != nullptr;
    if (dequantizes(node) && is_stored && node.output(0).valid()) {
      QQ_RETURN_IF_ERROR(store_as_float(context.model, node));
      stored.emplace_back(node.output(0), graph.value(node.input(0)).name);
      ++changes;
    } else if (ir::quantizing_part(node.op) == ir::QuantizingPart::kBoth && node.output(0).valid()) {
      bypass(graph, id, node.input(0));
      ++changes;
    }
  }
  QQ_RETURN_IF_ERROR(check_is_float(graph));
  ir::GraphEdit edit(graph);
  edit.remove_unused_initializers();  // so that their names are free
  for (const auto& [value, name] : stored) take_float_name(edit, value, name);
  return changes;
}

}  // namespace quarkq::qdq
